/**
 * `npm run test:nodes`: what the limits need of node's internals, on versions of node that the gate does not run. One that can't be had counts
 * as skipped.
 */
import { spawnSync, type StdioOptions } from "node:child_process";
import path from "node:path";
import { recordCounts } from "./test-counts.js";

const versions = ["22.23.3", "26.12.1"];
const script = path.join(import.meta.dirname, "test.ts");
const test = ["--conditions=@bunting/source", "--import=tsx", script, "packages/server/src/node-internals"];

process.exitCode = 0;
for (const version of versions) {
  if (!runOn(version, ["--version"], "ignore")) {
    console.log(
      `bunting: the internals of node ${version} are skipped: npm does not have it for this platform`,
    );
    recordCounts({ passed: 0, failed: 0, skipped: 1 });
    continue;
  }
  console.log(`bunting: the internals of node ${version}`);
  if (!runOn(version, test, "inherit")) process.exitCode = 1;
}

/** Runs a node of npm's package for this platform, which contains it; npm keeps it in its cache. */
function runOn(version: string, args: readonly string[], stdio: StdioOptions): boolean {
  const name = `node-${process.platform}-${process.arch}@${version}`;
  return (
    spawnSync("npm", ["exec", "--yes", `--package=${name}`, "--", "node", ...args], { stdio }).status === 0
  );
}
