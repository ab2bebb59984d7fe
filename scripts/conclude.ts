import { existsSync } from "node:fs";
import { runAgain } from "./run-again.js";
import { failedFor, failureLines, recordedRuns, summaryLine, totalOf } from "./test-counts.js";
import { rememberUnstable, unstableFile } from "./unstable-tests.js";

/**
 * The end of a gate: runs what failed once more, prints all failures and the sum of the test runs that were recorded in the file, and returns an
 * exit code: 1 if anything failed.
 */
export function conclude(counts: string, failedStages: readonly string[]): number {
  const recorded = existsSync(counts) ? recordedRuns(counts) : [];
  const runs = rememberUnstable(runAgain(recorded, counts), unstableFile());
  for (const line of failureLines(runs, failedStages)) console.log(line);
  console.log(summaryLine(totalOf(runs)));
  return failedFor(runs, failedStages).length > 0 ? 1 : 0;
}
