import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";

/**
 * Fetches a package of Debian and unpacks it into this directory, which must exist. Nothing is installed, so no service starts and the machine
 * stays as it is.
 *
 * @throws Error with a sentence, where there is no apt-get or no archive.
 */
export function unpackDebianPackage(name: string, directory: string): void {
  if (run(["apt-get", "--version"]) !== 0) throw new Error(`there is no apt-get to fetch ${name} with.`);
  const download = path.join(directory, ".download");
  mkdirSync(download);
  // Lists of packages may be absent or old; updating them takes root.
  if (run(["apt-get", "download", name], download) !== 0) {
    run(["apt-get", "update"], download);
    if (run(["apt-get", "download", name], download) !== 0)
      throw new Error(`apt-get could not download the package ${name}.`);
  }
  const [archive = ""] = readdirSync(download).filter((file) => file.endsWith(".deb"));
  if (run(["dpkg-deb", "-x", path.join(download, archive), directory]) !== 0)
    throw new Error(`dpkg-deb can't unpack ${archive}.`);
  rmSync(download, { recursive: true });
}

function run([command = "", ...args]: readonly string[], cwd?: string): number | null {
  return spawnSync(command, args, { cwd, stdio: "ignore" }).status;
}
