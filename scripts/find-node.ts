import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { findNode24 } from "./node24.js";

/** The path of a node of that version, or a sentence that says why there is none here. */
export type FoundNode = { readonly binary: string } | { readonly missing: string };

/** This process's own node, or one on PATH, or for 24 the one from npm's package. */
export function findNode(major: 20 | 24, searched: string = process.env["PATH"] ?? ""): FoundNode {
  if (process.version.startsWith(`v${major}.`)) return { binary: process.execPath };
  const candidates = [...new Set(searched.split(path.delimiter))].map((folder) => path.join(folder, "node"));
  const binary = candidates.find((file) => existsSync(file) && versionOf(file).startsWith(`v${major}.`));
  if (binary !== undefined) return { binary };
  return major === 24 ? findNode24() : { missing: `there is no node ${major} on PATH` };
}

function versionOf(binary: string): string {
  return spawnSync(binary, ["--version"], { encoding: "utf8" }).stdout;
}
