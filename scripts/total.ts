/**
 * Prints the failures and the sum of the test runs that were recorded in the file given as the first argument. The others name the steps that
 * failed.
 */
import { failureLines, recordedRuns, summaryLine, totalOf } from "./test-counts.js";

const [file, ...failedSteps] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: total.ts <file of counts> [failed step ...]");
const runs = recordedRuns(file);
for (const line of failureLines(runs, failedSteps)) console.log(line);
console.log(summaryLine(totalOf(runs)));
