import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { cacheDirectory } from "./cache-directory.js";
import type { TestFailure, TestRun } from "./test-counts.js";

/** A test that fails this often is no accident. */
const rememberedMs = 14 * 24 * 60 * 60_000;

/** A test that failed, and passed when its file was run again. */
interface UnstableTest {
  readonly file: string;
  readonly title: string;
  /** When it happened; as in "2026-11-26T14:00:00.000Z". */
  readonly at: string;
}

/** Outside of the checkout, which CI may make anew each time. */
export function unstableFile(): string {
  return path.join(cacheDirectory("gate"), "unstable-tests.json");
}

/**
 * Remembers the tests that passed when they were run again, and makes those a failure that did so in an earlier gate, too: once is an accident of
 * the machine, twice within 14 days is a defect that somebody has to mend.
 *
 * @param file Where they are remembered.
 */
export function rememberUnstable(
  runs: readonly TestRun[],
  file: string,
  now: () => number = Date.now,
): TestRun[] {
  const remembered = readUnstable(file).filter(({ at }) => now() - Date.parse(at) < rememberedMs);
  const judged = runs.map((run) => judge(run, remembered));
  const at = new Date(now()).toISOString();
  const unstable = runs.flatMap(({ failures }) => failures.filter(({ passedAgain }) => passedAgain === true));
  const added = unstable.map(({ file: test, title }) => ({ file: test, title, at }));
  if (added.length > 0) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify([...remembered, ...added], undefined, 2)}\n`);
  }
  return judged;
}

function judge(run: TestRun, remembered: readonly UnstableTest[]): TestRun {
  const failures = run.failures.map((failure) => withEarlier(failure, remembered));
  const again = failures.filter(({ unstableSince }) => unstableSince !== undefined).length;
  return { ...run, failures, passed: run.passed - again, failed: run.failed + again };
}

function withEarlier(failure: TestFailure, remembered: readonly UnstableTest[]): TestFailure {
  if (failure.passedAgain !== true) return failure;
  const earlier = remembered.find(({ file, title }) => file === failure.file && title === failure.title);
  return earlier === undefined ? failure : { ...failure, unstableSince: earlier.at.slice(0, 10) };
}

function readUnstable(file: string): readonly UnstableTest[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as UnstableTest[]) : [];
}
