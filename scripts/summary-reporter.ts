import { channel } from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";
import path from "node:path";
import mocha from "mocha";
import { FileTimes, slowestFiles } from "./file-times.js";
import { timesAsLines, timesVariable } from "./recorded-times.js";
import { recordCounts, summaryLine, type TestCounts, type TestFailure } from "./test-counts.js";
import { heldVariable, type TestReport } from "./test-report.js";

const events = mocha.Runner.constants;

/**
 * A line for each file as it ends (none where the output is held), the failures, the slowest files if any is slow, then the line that CI reads:
 * `N passed, N failed[, N skipped]`. The process that has started this mocha is told meanwhile how far it is.
 */
class SummaryReporter extends mocha.reporters.Base {
  readonly #times = new FileTimes();
  /** Without those whose tests were all skipped: their times say nothing. */
  readonly #passed = new Set<string>();
  readonly #isHeld = process.env[heldVariable] !== undefined;
  readonly #isDryRun: boolean;
  #current = { file: "", tests: 0, failed: 0 };

  constructor(runner: mocha.Runner, options: mocha.MochaOptions = {}) {
    super(runner, options);
    this.#isDryRun = options.dryRun === true;
    runner.once(events.EVENT_RUN_BEGIN, () => {
      const files = new Set<string>();
      runner.suite.eachTest((test: mocha.Test) => void files.add(fileOf(test)));
      send({ kind: "began", files: files.size, tests: runner.total });
    });
    runner.on(events.EVENT_SUITE_BEGIN, (suite) => this.#enter(fileOf(suite)));
    runner.on(events.EVENT_TEST_BEGIN, (test) => this.#enter(fileOf(test)));
    runner.on(events.EVENT_TEST_PASS, (test) => this.#passed.add(fileOf(test)));
    runner.on(events.EVENT_TEST_FAIL, (test) => this.#failed(test));
    runner.on(events.EVENT_TEST_END, (test) => this.#ended(fileOf(test)));
    runner.once(events.EVENT_RUN_END, () => this.#end());
  }

  #enter(file: string): void {
    if (file === "" || file === this.#current.file) return;
    this.#showFile();
    this.#current = { file, tests: 0, failed: 0 };
    send({ kind: "file", file });
  }

  #failed(test: mocha.Test | mocha.Hook): void {
    this.#current.failed++;
    // By a channel, because mocha loads reporters apart from the tests: what both import may be two modules.
    if (test.type === "hook") channel("bunting:failed-hook").publish(test.fullTitle());
    if (!this.#isHeld) console.log(`  failed: ${test.fullTitle()}`);
    send({ kind: "failed", file: fileOf(test), title: test.fullTitle() });
  }

  #ended(file: string): void {
    this.#current.tests++;
    this.#times.ended(file);
    send({ kind: "test", file });
  }

  #showFile(): void {
    const { file, tests, failed } = this.#current;
    if (this.#isHeld || tests === 0) return;
    const seconds = (this.#times.seconds().get(file) ?? 0).toFixed(1);
    const failures = failed > 0 ? `, ${failed} failed` : "";
    console.log(`${seconds.padStart(7)} s  ${file} (${tests}${failures})`);
  }

  #end(): void {
    this.#showFile();
    this.epilogue();
    const slowest = slowestFiles(this.#times.seconds());
    if (slowest.length > 0 && !this.#isHeld) console.log(`the slowest files:\n${slowest.join("\n")}`);
    const counts = this.#counts();
    console.log(summaryLine(counts));
    recordCounts(counts, this.failures.map(failureOf));
    this.#recordTimes();
    send({ kind: "ended", counts });
  }

  #counts(): TestCounts {
    const { passes, failures: failed, pending } = this.stats;
    // A dry run finds out how many tests would have run: none has passed.
    return this.#isDryRun
      ? { passed: 0, failed, skipped: passes + pending }
      : { passed: passes, failed, skipped: pending };
  }

  #recordTimes(): void {
    const file = process.env[timesVariable];
    if (file === undefined || this.#isDryRun) return;
    const measured = [...this.#times.seconds()].filter(([name]) => this.#passed.has(name));
    // Tests of these scripts run mocha on files elsewhere.
    const ours = measured.filter(([name]) => !name.startsWith(".."));
    appendFileSync(file, timesAsLines(new Map(ours)));
  }
}

function send(report: TestReport): void {
  process.send?.(report);
}

function failureOf(test: mocha.Test): TestFailure {
  const [error = ""] = String(test.err).split("\n");
  return { title: test.fullTitle(), file: fileOf(test), error };
}

function fileOf({ file }: { readonly file?: string | undefined }): string {
  return file === undefined || file === "" ? "" : path.relative(process.cwd(), file);
}

// mocha takes a reporter from the default export only.
// eslint-disable-next-line no-restricted-syntax
export default SummaryReporter;
