/**
 * The end of the gate: runs what failed once more, prints all failures and the sum of the test runs that were recorded in the file given as
 * the first argument, and fails if anything did. The other arguments name the steps that failed.
 */
import { runAgain } from "./run-again.js";
import { failedFor, failureLines, recordedRuns, summaryLine, totalOf } from "./test-counts.js";

const [file, ...failedSteps] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: total.ts <file of counts> [failed step ...]");
const runs = runAgain(recordedRuns(file), file);
for (const line of failureLines(runs, failedSteps)) console.log(line);
console.log(summaryLine(totalOf(runs)));
process.exitCode = failedFor(runs, failedSteps).length > 0 ? 1 : 0;
