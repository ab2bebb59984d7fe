#!/usr/bin/env node
// @ts-check
/**
 * The command `bunting` of this checkout, for the hook of pre-commit and the action of GitHub: both have a checkout of a revision, and nothing that
 * is built. The first run installs what the bundle is made with, and makes it; later ones only start it.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

const root = path.dirname(import.meta.dirname);
const bundle = path.join(root, "packages/cli/dist/bundle/bunting.mjs");

if (!existsSync(bundle)) {
  make("scripts/set-up.mjs");
  make("--import=tsx", "scripts/bundle-cli.ts");
}
await import(bundle);

/** @param {readonly string[]} args of node, in this checkout */
function make(...args) {
  // What it says is not a result: that is read from the standard output.
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (status === 0) return;
  console.error(`bunting: ${args.join(" ")} has failed in ${root}`);
  process.exit(2);
}
