import { affectedTests } from "./affected-tests.js";
import { changedSince } from "./changed-files.js";
import { workspaceGraph } from "./imports/workspace-graph.js";
import type { LoopOptions } from "./loop-options.js";
import { quickTests } from "./quick-tests.js";
import { readDurations, secondsOf } from "./recorded-times.js";
import { isGlob, startPrograms, type TestArguments } from "./test-specs.js";

/** How many files are named in full; of more, it is said how many they are. */
const mostNamed = 8;

/**
 * Of the files of tests that were asked for, those that `--since` and `--fast` leave, and says which were left out and why. Without a path,
 * `--fast` and `--watch` mean the tests that run from sources, for which nothing has to be built.
 *
 * @throws Error if globs were asked for, whose files only mocha knows.
 */
export async function narrowTests(
  { files, isAll }: Pick<TestArguments, "files" | "isAll">,
  { since, isFast, isWatching }: Omit<LoopOptions, "rest">,
): Promise<readonly string[]> {
  const glob = files.find(isGlob);
  if (glob !== undefined) throw new Error(`name files and folders instead of ${glob}`);
  let left = isAll && (isFast || isWatching) ? files.filter((file) => !startPrograms([file])) : files;
  if (since !== undefined) {
    const changed = changedSince(since);
    const affected = affectedTests(await workspaceGraph(), changed, left);
    left = affected.files;
    say(`${changed.length} files have changed since ${since}, on which ${left.length} files of tests depend`);
    if (affected.startPrograms.length > 0)
      say(
        `${affected.startPrograms.length} files of test/ start the built programs, whose sources have changed: they are left to the gate`,
      );
    if (affected.unknown.length > 0) say(`no test is known to depend on ${named(affected.unknown)}`);
  }
  if (isFast) {
    const durations = readDurations();
    const seconds = (file: string): number => secondsOf(durations, file);
    const { files: quick, leftOut } = quickTests(left, seconds);
    left = quick;
    if (leftOut.length > 0) {
      const slowestFirst = [...leftOut].sort((a, b) => seconds(b) - seconds(a));
      const sum = Math.round(leftOut.reduce((total, file) => total + seconds(file), 0));
      say(`left out, because they take ${sum} s together: ${named(slowestFirst)}`);
    }
  }
  return left;
}

function named(files: readonly string[]): string {
  if (files.length <= mostNamed) return files.join(", ");
  return `${files.slice(0, mostNamed).join(", ")} and ${files.length - mostNamed} more`;
}

function say(text: string): void {
  console.log(`bunting: ${text}`);
}
