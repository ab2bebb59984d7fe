import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { cacheDirectory } from "./cache-directory.js";

export const node24Version = "24.21.0";

/** The path of a node 24, or a sentence that says why there is none here. */
export type Node24 = { readonly binary: string } | { readonly missing: string };

/**
 * This process's own node if it is a 24; otherwise the one from npm's package for this platform, kept outside of the tree. The package
 * `node` would download it in an install script; the package of the platform contains it.
 */
export function findNode24(): Node24 {
  if (process.version.startsWith("v24.")) return { binary: process.execPath };
  const packageName = `node-${process.platform}-${process.arch}`;
  const directory = path.join(cacheDirectory("node"), `${node24Version}-${process.platform}-${process.arch}`);
  const binary = path.join(directory, "node_modules", packageName, "bin/node");
  if (existsSync(binary)) return { binary };
  console.log(`bunting: fetching node ${node24Version} (once; 190 MB in ${directory}) …`);
  // Installed beside its final place and renamed at the end, so that it is never found half-installed.
  mkdirSync(path.dirname(directory), { recursive: true });
  const unfinished = mkdtempSync(path.join(path.dirname(directory), ".fetching-"));
  try {
    const flags = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
    const { status, stderr } = spawnSync(
      "npm",
      ["install", "--prefix", unfinished, ...flags, `${packageName}@${node24Version}`],
      { encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] },
    );
    if (status !== 0) {
      const reason = /npm error (?!code)(.*)/.exec(stderr)?.[1] ?? `npm ended with ${status ?? "a signal"}`;
      return { missing: `${packageName}@${node24Version} could not be installed: ${reason}` };
    }
    rmSync(directory, { recursive: true, force: true });
    renameSync(unfinished, directory);
    return { binary };
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
