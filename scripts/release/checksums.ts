import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** What `sha256sum --check` reads. */
export const checksumFile = "SHA256SUMS";

/** Writes the checksums of all files of a directory, sorted by name. */
export function writeChecksums(directory: string): void {
  const lines = filesIn(directory).map((file) => {
    const digest = createHash("sha256")
      .update(readFileSync(path.join(directory, file)))
      .digest("hex");
    return `${digest}  ${file}\n`;
  });
  writeFileSync(path.join(directory, checksumFile), lines.join(""));
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(directory, path.join(entry.parentPath, entry.name)))
    .filter((file) => file !== checksumFile)
    .sort();
}
