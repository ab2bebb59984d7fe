/**
 * `npm test`: runs the tests that need nothing but node. Arguments are files, folders, globs and mocha's options:
 * `npm test -- packages/kube --grep relist`. `--since main`, `--fast` and `--watch` choose among them.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { loopOptions } from "./loop-options.js";
import { narrowTests } from "./narrow-tests.js";
import { filesOfScale } from "./night-files.js";
import {
  mergedDurations,
  readDurations,
  readTimes,
  timesVariable,
  writeDurations,
} from "./recorded-times.js";
import { exitIfMissing, missingForTests } from "./required-parts.js";
import { runGroups, type TestGroups } from "./test-groups.js";
import { groupsOf, startPrograms, testArguments } from "./test-specs.js";
import { watchTests } from "./watch-tests.js";

/** A mocha for each so many seconds of tests, if they have been narrowed down: somebody waits for them. */
const quickestSeconds = 4;

exitIfMissing(() => missingForTests());
process.exitCode = await runTests().catch((error: unknown) => {
  console.error(`bunting: ${(error as Error).message}`);
  return 1;
});

async function runTests(): Promise<number> {
  const loop = loopOptions(process.argv.slice(2));
  const asked = testArguments(loop.rest);
  const isNarrowed = loop.since !== undefined || loop.isFast || loop.isWatching;
  const files = isNarrowed ? await narrowTests(asked, loop) : asked.files;
  if (loop.isWatching) {
    await watchTests(files, asked.options, !asked.isAll);
    return 0;
  }
  if (files.length === 0) {
    console.log("bunting: no tests are left to run");
    return 0;
  }
  if (startPrograms(files) && !build()) return 1;
  if (!isNarrowed && asked.isAll && asked.options.length === 0) sayLeftOut(files);
  // Of quick tests, each mocha has a few seconds only.
  const groups = isNarrowed ? groupsOf(asked.options, files, quickestSeconds) : asked.groups;
  return asked.recordTimes ? runRecorded(groups) : runGroups(groups);
}

function sayLeftOut(files: readonly string[]): void {
  const count = files.length - filesOfScale(files).length;
  if (count > 0)
    console.log(`bunting: ${count} files of tests are left to the night: scripts/night-files.ts`);
}

function build(): boolean {
  const setUp = [path.join(import.meta.dirname, "set-up.mjs"), "--build"];
  return spawnSync(process.execPath, setUp, { stdio: "inherit" }).status === 0;
}

/** Runs the groups and takes over how long each file has taken, also if tests have failed. */
async function runRecorded(groups: TestGroups): Promise<number> {
  const directory = mkdtempSync(path.join(tmpdir(), "bunting-times-"));
  const times = path.join(directory, "times");
  const code = await runGroups(groups, { environment: { [timesVariable]: times } });
  if (existsSync(times)) writeDurations(mergedDurations(readDurations(), readTimes(times)));
  rmSync(directory, { recursive: true });
  return code;
}
