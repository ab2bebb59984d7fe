import { appendFileSync, readFileSync } from "node:fs";

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface TestFailure {
  /** As `--grep` takes it; of a hook, with its name. */
  readonly title: string;
  readonly file: string;
  /** The first line of what was thrown. */
  readonly error: string;
  /** Its file passed when it was run again by itself. */
  readonly passedAgain?: boolean;
  /** It passed again, but has done the same on this day, as in "2026-11-26": now it is a failure. */
  readonly unstableSince?: string;
}

/** One run of mocha, or what a step says that can't run it. */
export interface TestRun extends TestCounts {
  /** The npm script, such as `test:cluster`. */
  readonly step: string;
  readonly failures: readonly TestFailure[];
}

/** The line that CI reads. */
export function summaryLine({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

/** Where several runs make up one result, as in .ci/run, BUNTING_TEST_COUNTS names the file that each appends its counts and failures to. */
export function recordCounts(counts: TestCounts, failures: readonly TestFailure[] = []): void {
  const file = process.env["BUNTING_TEST_COUNTS"];
  if (file === undefined) return;
  const run: TestRun = { step: process.env["npm_lifecycle_event"] ?? "tests", ...counts, failures };
  appendFileSync(file, `${JSON.stringify(run)}\n`);
}

/** What the runs have appended to `file`. */
export function recordedRuns(file: string): TestRun[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as TestRun);
}

export function totalOf(runs: readonly TestCounts[]): TestCounts {
  const sum = (count: keyof TestCounts): number => runs.reduce((total, run) => total + run[count], 0);
  return { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") };
}

/**
 * What comes before the line that CI reads, for those who see only the end of its output: each test that failed, and each step that did
 * although no test of it has.
 */
export function failureLines(runs: readonly TestRun[], failedSteps: readonly string[]): string[] {
  const tests = runs.flatMap(({ step, failures }) =>
    failures.flatMap((failure) => [
      `${step}: ${failure.file}: ${failure.title}${remarkOn(failure)}`,
      `    ${failure.error}`,
    ]),
  );
  const ended = runs.filter(({ failed, failures }) => failed > 0 && failures.length === 0);
  const outside = ended.map(
    ({ step, failed }) =>
      `${step}: ${failed} of its failures is a mocha that crashed, or that did not end after its last test: see its output`,
  );
  const named = new Set(
    runs.filter(({ failed, failures }) => failed > 0 || failures.length > 0).map(({ step }) => step),
  );
  const others = failedSteps.filter((step) => !named.has(step));
  return [
    ...tests,
    ...outside,
    ...others.map((step) => `${step}: failed, but not in a test: see its output`),
  ];
}

function remarkOn({ passedAgain, unstableSince }: TestFailure): string {
  if (unstableSince !== undefined)
    return ` (UNSTABLE for the second time: it passed when its file was run again, as on ${unstableSince}; twice within 14 days is a failure)`;
  return passedAgain === true ? " (UNSTABLE: passed when its file was run again; mend it)" : "";
}

/** Those of the steps that failed for something else than tests that passed when they were run again. */
export function failedFor(runs: readonly TestRun[], failedSteps: readonly string[]): string[] {
  const passedAgain = new Set(
    runs.filter(({ failed, failures }) => failed === 0 && failures.length > 0).map(({ step }) => step),
  );
  const failed = runs.filter((run) => run.failed > 0).map(({ step }) => step);
  return [...new Set([...failedSteps.filter((step) => !passedAgain.has(step)), ...failed])];
}
