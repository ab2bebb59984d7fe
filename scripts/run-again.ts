import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { recordedRuns, type TestRun } from "./test-counts.js";

/** More failures than these are no accident, and are not tried again: a thousandth of all tests. A machine that others keep busy failed seven. */
const mostFailures = 11;

/** Runs the files as the step does, so that it records them in `counts`; the exit code. */
export type RunFiles = (step: string, files: readonly string[], counts: string) => number | null;

/**
 * Runs the files in which tests failed once more, each step's by themselves, and resolves the failures of a step that passes then. A test may
 * lose a race on a machine that is busy with something else; it must be mended, but says nothing about the change that is tested. Each is still
 * printed, by `failureLines`.
 *
 * @param counts Where the runs are recorded; those of the second time are recorded beside it.
 */
export function runAgain(runs: readonly TestRun[], counts: string, runFiles: RunFiles = npmRun): TestRun[] {
  const failed = runs.reduce((sum, run) => sum + run.failed, 0);
  if (failed > mostFailures) return [...runs];
  return runs.map((run) => (isInTests(run) ? tryAgain(run, `${counts}-again`, runFiles) : run));
}

function isInTests({ failed, failures }: TestRun): boolean {
  return failed > 0 && failures.length === failed;
}

function tryAgain(run: TestRun, counts: string, runFiles: RunFiles): TestRun {
  rmSync(counts, { force: true });
  const status = runFiles(run.step, [...new Set(run.failures.map(({ file }) => file))], counts);
  const again = status === 0 ? recordedRuns(counts) : [];
  if (!again.some(({ passed }) => passed > 0)) return run;
  return {
    ...run,
    passed: run.passed + run.failed,
    failed: 0,
    failures: run.failures.map((failure) => ({ ...failure, passedAgain: true })),
  };
}

function npmRun(step: string, files: readonly string[], counts: string): number | null {
  console.error(`\nbunting: once more: npm run ${step} -- ${files.join(" ")}`);
  const env = { ...process.env, BUNTING_TEST_COUNTS: counts };
  return spawnSync("npm", ["run", "--silent", step, "--", ...files], { env, stdio: "inherit" }).status;
}
