/**
 * `npm test`: runs the tests that need nothing but node. Arguments are files, folders, globs and mocha's options:
 * `npm test -- packages/kube --grep relist`, `npm test -- --watch packages/kube`.
 */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { runGroups } from "./test-groups.js";
import { testArguments, type TestArguments } from "./test-specs.js";

const { groups, watch, needsBuild } = parsedArguments();
const setUp = [path.join(import.meta.dirname, "set-up.mjs"), "--build"];
if (needsBuild && spawnSync(process.execPath, setUp, { stdio: "inherit" }).status !== 0) process.exit(1);
process.exitCode = await runGroups(groups, { watch });

function parsedArguments(): TestArguments {
  try {
    return testArguments(process.argv.slice(2));
  } catch (error) {
    console.error(`bunting: ${(error as Error).message}`);
    process.exit(1);
  }
}
