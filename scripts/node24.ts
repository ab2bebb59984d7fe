import { spawnSync } from "node:child_process";
import path from "node:path";
import { CacheEntry } from "./cache-entry.js";

export const node24Version = "24.21.0";

/** The path of a node, or a sentence that says why there is none here. */
export type FoundNode = { readonly binary: string } | { readonly missing: string };

/** This process's own node if it is a 24; otherwise the one from npm. */
export function findNode24(): FoundNode {
  return process.version.startsWith("v24.") ? { binary: process.execPath } : fetchNode(node24Version);
}

/**
 * The node of npm's package for this platform, kept outside of the tree. The package `node` would download it in an install script; the
 * package of the platform contains it.
 */
export function fetchNode(version: string): FoundNode {
  const packageName = `node-${process.platform}-${process.arch}`;
  const entry = new CacheEntry("node", `${version}-${process.platform}-${process.arch}`);
  try {
    const directory = entry.getSync((unfinished) => fetchInto(unfinished, packageName, version));
    return { binary: path.join(directory, "node_modules", packageName, "bin/node") };
  } catch (error) {
    return { missing: (error as Error).message };
  }
}

function fetchInto(directory: string, packageName: string, version: string): void {
  console.error(`bunting: fetching node ${version} (once; 190 MB) …`);
  const flags = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status, stderr } = spawnSync(
    "npm",
    ["install", "--prefix", directory, ...flags, `${packageName}@${version}`],
    { encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] },
  );
  if (status === 0) return;
  const reason = /npm error (?!code)(.*)/.exec(stderr)?.[1] ?? `npm ended with ${status ?? "a signal"}`;
  throw new Error(`${packageName}@${version} could not be installed: ${reason}`);
}

if (process.argv[1] === import.meta.filename) {
  const found = findNode24();
  console.log("missing" in found ? found.missing : found.binary);
  process.exitCode = "missing" in found ? 2 : 0;
}
