/**
 * `npm test`: runs the tests that need nothing but node. Arguments are files, folders, globs and mocha's options:
 * `npm test -- packages/kube --grep relist`, `npm test -- --watch packages/kube`.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  mergedDurations,
  readDurations,
  readTimes,
  timesVariable,
  writeDurations,
} from "./recorded-times.js";
import { runGroups } from "./test-groups.js";
import { testArguments, type TestArguments } from "./test-specs.js";

const { groups, watch, recordTimes, needsBuild } = parsedArguments();
const setUp = [path.join(import.meta.dirname, "set-up.mjs"), "--build"];
if (needsBuild && spawnSync(process.execPath, setUp, { stdio: "inherit" }).status !== 0) process.exit(1);
process.exitCode = await (recordTimes ? runRecorded() : runGroups(groups, { watch }));

/** Runs the groups and takes over how long each file has taken, also if tests have failed. */
async function runRecorded(): Promise<number> {
  const directory = mkdtempSync(path.join(tmpdir(), "bunting-times-"));
  const times = path.join(directory, "times");
  const code = await runGroups(groups, { watch, environment: { [timesVariable]: times } });
  if (existsSync(times)) writeDurations(mergedDurations(readDurations(), readTimes(times)));
  rmSync(directory, { recursive: true });
  return code;
}

function parsedArguments(): TestArguments {
  try {
    return testArguments(process.argv.slice(2));
  } catch (error) {
    console.error(`bunting: ${(error as Error).message}`);
    process.exit(1);
  }
}
