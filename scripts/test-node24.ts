/** `npm run test:node24`: what `npm test` runs, on Node 24; arguments are the same. Where Node 24 can't be had, the tests count as skipped. */
import { spawnSync } from "node:child_process";
import { copyFileSync, linkSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { findNode24 } from "./node24.js";
import { recordCounts } from "./test-counts.js";

const node24 = findNode24();
if ("missing" in node24) {
  console.log(`bunting: tests on Node 24 are skipped: ${node24.missing}`);
  recordCounts({ passed: 0, failed: 0, skipped: 1 });
} else {
  const script = path.join(import.meta.dirname, "test.ts");
  const args = ["--conditions=@bunting/source", "--import=tsx", script, ...process.argv.slice(2)];
  process.exitCode = spawnSync(besideCheckout(node24.binary), args, { stdio: "inherit" }).status ?? 1;
}

/** A link to the binary in the checkout: a test runs it as another user, who may not enter the home directory that the cache is in. */
function besideCheckout(binary: string): string {
  const directory = path.join(path.dirname(import.meta.dirname), "node_modules/.bunting");
  const link = path.join(directory, "node-24");
  mkdirSync(directory, { recursive: true });
  rmSync(link, { force: true });
  try {
    linkSync(binary, link);
  } catch {
    // On another file system.
    copyFileSync(binary, link);
  }
  return link;
}
