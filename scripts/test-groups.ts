import { recordCounts, summaryLine, totalOf, type TestCounts } from "./test-counts.js";
import { runMocha, type MochaRun } from "./run-mocha.js";
import type { TestReport } from "./test-report.js";

/** Arguments of mocha for each of several runs. */
export type TestGroups = readonly (readonly string[])[];

/**
 * Runs the groups at once, each in a mocha of its own, since most tests wait for processes and sockets; resolves with an exit code. The output of
 * the first is seen as it comes, that of each other one when it has ended, and then the sum, in the line that CI reads.
 */
export async function runGroups([first, ...others]: TestGroups, run: MochaRun = {}): Promise<number> {
  if (first === undefined) throw new Error("there is no group of tests to run");
  if (others.length === 0) return runMocha(first, run);
  const counts: TestCounts[] = [];
  const onReport = (report: TestReport): void => {
    if (report.kind === "ended") counts.push(report.counts);
  };
  const shown = runMocha(first, { ...run, onReport });
  const held = others.map((group) => {
    const output: string[] = [];
    return { output, code: runMocha(group, { ...run, onReport, onOutput: (text) => output.push(text) }) };
  });
  const codes = [await shown];
  for (const { output, code } of held) {
    codes.push(await code);
    process.stdout.write(output.join(""));
  }
  const crashed = codes.length - counts.length;
  if (crashed > 0) {
    console.error(
      `bunting: ${crashed} of ${codes.length} runs of mocha ended before their tests had: see above`,
    );
    // Failures of their own, that are not forgotten when tests of another group pass the second time.
    recordCounts({ passed: 0, failed: crashed, skipped: 0 });
  }
  const sum = totalOf(counts);
  console.log(
    `all ${codes.length} groups of tests:\n${summaryLine({ ...sum, failed: sum.failed + crashed })}`,
  );
  return codes.find((code) => code !== 0) ?? (crashed > 0 ? 1 : 0);
}
