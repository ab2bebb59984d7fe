import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { makeDirectory } from "./make-directory.js";
import { temporarySuffix } from "./sweep-copies.js";

/**
 * Makes the directory if it is not there, and writes a file, so that who starts the process learns that no copy can be kept: the first copy may be written much later.
 *
 * @throws NodeJS.ErrnoException if no copy could be written
 */
export async function checkCopies(directory: string): Promise<void> {
  await makeDirectory(directory);
  const file = path.join(directory, `${randomUUID()}${temporarySuffix}`);
  try {
    await writeFile(file, "checked at the start\n", { flag: "wx", mode: 0o600, flush: true });
  } finally {
    await rm(file, { force: true }).catch(() => undefined);
  }
}
