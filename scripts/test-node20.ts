/**
 * `npm run test:node20`: what `npm test` runs, on Node 20, the oldest that Bunting supports; arguments are the same. With `--smoke`, the tests of
 * what differs between versions of node, in one process. Where there is no Node 20, the tests count as skipped.
 */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { findNode } from "./find-node.js";
import { linkNode } from "./link-node.js";
import { skipTests } from "./skip-tests.js";
import { smokeFiles } from "./smoke-files.js";
import { allTestFiles } from "./test-files.js";

const isSmoke = process.argv.includes("--smoke");
const given = process.argv.slice(2).filter((arg) => arg !== "--smoke");
const args = isSmoke ? [...given, ...smokeFiles()] : given;
const node20 = findNode(20);
if ("missing" in node20) {
  const files = args.length > 0 ? args : allTestFiles();
  process.exitCode = await skipTests("tests on Node 20", "node20", node20.missing, files);
} else {
  const script = path.join(import.meta.dirname, "test.ts");
  const flags = ["--conditions=@bunting/source", "--import=tsx"];
  const binary = linkNode(node20.binary, 20);
  console.log(`bunting: tests on Node 20: ${node20.binary}`);
  process.exitCode =
    spawnSync(binary, [...flags, script, ...args], {
      stdio: "inherit",
      // Programs that tests start by name are of the same version.
      env: { ...process.env, PATH: `${path.dirname(binary)}${path.delimiter}${process.env["PATH"] ?? ""}` },
    }).status ?? 1;
}
