import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { fetchNode, node24Version, type FoundNode } from "./node24.js";

const versions = { 20: "20.20.2", 24: node24Version };

/** This process's own node, or one on PATH, or the one from npm's package. */
export function findNode(major: 20 | 24, searched: string = process.env["PATH"] ?? ""): FoundNode {
  if (process.version.startsWith(`v${major}.`)) return { binary: process.execPath };
  const candidates = [...new Set(searched.split(path.delimiter))].map((folder) => path.join(folder, "node"));
  const binary = candidates.find((file) => existsSync(file) && versionOf(file).startsWith(`v${major}.`));
  if (binary !== undefined) return { binary };
  return fetchNode(versions[major]);
}

function versionOf(binary: string): string {
  return spawnSync(binary, ["--version"], { encoding: "utf8" }).stdout;
}
