import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { cacheDirectory } from "./cache-directory.js";

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
  const directory = cacheDirectory("promtool");
  const binary = path.join(directory, "promtool");
  if (existsSync(binary)) return { binary };
  if (run(["apt-get", "--version"]) !== 0)
    return { missing: "there is no promtool here, and no apt-get to fetch it." };
  console.log("bunting: fetching promtool (once; Debian's package prometheus, 19 MB) …");
  mkdirSync(path.dirname(directory), { recursive: true });
  const unfinished = mkdtempSync(path.join(path.dirname(directory), ".promtool-"));
  try {
    // Lists of packages may be absent or old; updating them takes root.
    if (run(["apt-get", "download", "prometheus"], unfinished) !== 0) {
      run(["apt-get", "update"], unfinished);
      if (run(["apt-get", "download", "prometheus"], unfinished) !== 0) {
        return { missing: "apt-get could not download the package prometheus." };
      }
    }
    const [archive = ""] = readdirSync(unfinished).filter((name) => name.endsWith(".deb"));
    if (run(["dpkg-deb", "-x", archive, "."], unfinished) !== 0)
      return { missing: `dpkg-deb can't unpack ${archive}.` };
    mkdirSync(directory, { recursive: true });
    renameSync(path.join(unfinished, "usr/bin/promtool"), binary);
    return { binary };
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

function run([command = "", ...args]: readonly string[], cwd?: string): number | null {
  return spawnSync(command, args, { cwd, stdio: "ignore" }).status;
}
