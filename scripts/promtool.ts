import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { CacheEntry } from "./cache-entry.js";
import { unpackDebianPackage } from "./debian-package.js";

/** The path of promtool, or a sentence that says why there is none here. */
export type Promtool = { readonly binary: string } | { readonly missing: string };

/**
 * The promtool of this machine, else that of Debian's package `prometheus`, kept outside of the tree. The package is unpacked, not installed:
 * of its 96 MB of server and pages only this binary is used.
 */
export function findPromtool(): Promtool {
  const installed = (process.env["PATH"] ?? "")
    .split(path.delimiter)
    .map((folder) => path.join(folder, "promtool"))
    .find((file) => existsSync(file));
  if (installed !== undefined) return { binary: installed };
  try {
    const directory = new CacheEntry("promtool", "debian").getSync(fetchInto);
    return { binary: path.join(directory, "promtool") };
  } catch (error) {
    return { missing: (error as Error).message };
  }
}

function fetchInto(directory: string): void {
  console.log("bunting: fetching promtool (once; Debian's package prometheus, 19 MB) …");
  const unpacked = path.join(directory, "package");
  mkdirSync(unpacked);
  unpackDebianPackage("prometheus", unpacked);
  renameSync(path.join(unpacked, "usr/bin/promtool"), path.join(directory, "promtool"));
  rmSync(unpacked, { recursive: true });
}

if (process.argv[1] === import.meta.filename) {
  const found = findPromtool();
  console.log("missing" in found ? found.missing : found.binary);
  process.exitCode = "missing" in found ? 2 : 0;
}
