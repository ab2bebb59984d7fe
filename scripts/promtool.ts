import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { CacheEntry } from "./cache-entry.js";

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
  if (run(["apt-get", "--version"]) !== 0)
    throw new Error("there is no promtool here, and no apt-get to fetch it.");
  console.log("bunting: fetching promtool (once; Debian's package prometheus, 19 MB) …");
  const unpacked = path.join(directory, "package");
  mkdirSync(unpacked);
  // Lists of packages may be absent or old; updating them takes root.
  if (run(["apt-get", "download", "prometheus"], unpacked) !== 0) {
    run(["apt-get", "update"], unpacked);
    if (run(["apt-get", "download", "prometheus"], unpacked) !== 0)
      throw new Error("apt-get could not download the package prometheus.");
  }
  const [archive = ""] = readdirSync(unpacked).filter((name) => name.endsWith(".deb"));
  if (run(["dpkg-deb", "-x", archive, "."], unpacked) !== 0)
    throw new Error(`dpkg-deb can't unpack ${archive}.`);
  renameSync(path.join(unpacked, "usr/bin/promtool"), path.join(directory, "promtool"));
  rmSync(unpacked, { recursive: true });
}

function run([command = "", ...args]: readonly string[], cwd?: string): number | null {
  return spawnSync(command, args, { cwd, stdio: "ignore" }).status;
}

if (process.argv[1] === import.meta.filename) {
  const found = findPromtool();
  console.log("missing" in found ? found.missing : found.binary);
  process.exitCode = "missing" in found ? 2 : 0;
}
