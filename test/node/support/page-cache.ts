import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { environment } from "./environment.js";

const snapshots = "containerd/io.containerd.snapshotter.v1.overlayfs/snapshots";

/**
 * Drops from the page cache what images have, as after the start of a machine. Pages that a running process maps stay, so of the image that is
 * looked at no container must run.
 *
 * @returns how many bytes of our images' node stay: those of a container that has not ended yet
 */
export function dropImagePages(): number {
  const directory = path.join(environment("BUNTING_NODE_DIRECTORY"), snapshots);
  // Those of containers, which may be about to be removed, have none of these folders.
  const layers = readdirSync(directory)
    .map((name) => path.join(directory, name, "fs"))
    .filter((layer) => ["nodejs", "app", "usr"].some((folder) => existsSync(path.join(layer, folder))));
  // What is dirty cannot be dropped.
  execFileSync("sync", ["-f", directory]);
  const drop = ["dd", "if={}", "iflag=nocache", "count=0", "status=none", ";"];
  execFileSync("find", [...layers, "-type", "f", "-exec", ...drop], { stdio: "inherit" });
  const nodes = layers.map((layer) => path.join(layer, "nodejs/bin/node")).filter((file) => existsSync(file));
  if (nodes.length === 0) throw new Error(`there is no node in ${directory}`);
  const cached = nodes.map((file) =>
    Number(
      execFileSync("fincore", ["--noheadings", "--bytes", "--output", "RES", file], { encoding: "utf8" }),
    ),
  );
  return cached.reduce((sum, bytes) => sum + bytes, 0);
}
