import { recordCounts, summaryLine, totalOf, type TestCounts } from "./test-counts.js";
import { runMocha, type MochaRun } from "./run-mocha.js";
import { TestProgress } from "./test-progress.js";

/** Arguments of mocha for each of several runs. */
export type TestGroups = readonly (readonly string[])[];

/**
 * Runs the groups at once, each in a mocha of its own, since most tests wait for processes and sockets; resolves with an exit code. A group alone
 * is seen as it runs. Of several, it is told how far they are, the output of each is printed whole when it has ended, and in the end the sum, in
 * the line that CI reads.
 */
export async function runGroups(groups: TestGroups, run: MochaRun = {}): Promise<number> {
  const [first, ...others] = groups;
  if (first === undefined) throw new Error("there is no group of tests to run");
  if (others.length === 0) return runMocha(first, run);
  console.log(`bunting: tests on node ${process.version}, in ${groups.length} mochas at once`);
  const counts: TestCounts[] = [];
  const progress = new TestProgress({ mochas: groups.length });
  progress.start();
  const codes = await Promise.all(
    groups.map(async (group, index) => {
      const output: string[] = [];
      const code = await runMocha(group, {
        ...run,
        onOutput: (text) => output.push(text),
        onReport: (report) => {
          progress.report(index, report);
          if (report.kind === "ended") counts.push(report.counts);
        },
      });
      progress.print("");
      process.stdout.write(`\n-- tests, ${index + 1} of ${groups.length} runs at once:\n${output.join("")}`);
      return code;
    }),
  );
  progress.end();
  const slowest = progress.slowest();
  if (slowest.length > 0) console.log(`\nthe slowest files:\n${slowest.join("\n")}`);
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
