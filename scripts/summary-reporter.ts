import path from "node:path";
import mocha from "mocha";
import { FileTimes } from "./file-times.js";
import { recordCounts, summaryLine, type TestFailure } from "./test-counts.js";

/** mocha's dots and failures, the slowest files if any is slow, then the line that CI reads: `N passed, N failed[, N skipped]`. */
class SummaryReporter extends mocha.reporters.Dot {
  constructor(runner: mocha.Runner, options?: mocha.MochaOptions) {
    super(runner, options);
    const times = new FileTimes();
    runner.on(mocha.Runner.constants.EVENT_TEST_END, (test) => times.ended(fileOf(test)));
    // Dot prints its failures on the same event, and registered first.
    runner.once(mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      const counts = { passed, failed, skipped };
      const slowest = times.slowest();
      if (slowest.length > 0) console.log(`the slowest files:\n${slowest.join("\n")}`);
      console.log(summaryLine(counts));
      recordCounts(counts, this.failures.map(failureOf));
      process.send?.(counts);
    });
  }
}

function failureOf(test: mocha.Test): TestFailure {
  const [error = ""] = String(test.err).split("\n");
  return { title: test.fullTitle(), file: fileOf(test), error };
}

function fileOf({ file = "" }: mocha.Test): string {
  return path.relative(process.cwd(), file);
}

// mocha takes a reporter from the default export only.
// eslint-disable-next-line no-restricted-syntax
export default SummaryReporter;
