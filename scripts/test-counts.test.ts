import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { runAgain, type RunFiles } from "./run-again.js";
import { failedFor, failureLines, recordedRuns, summaryLine, totalOf, type TestRun } from "./test-counts.js";

const root = path.dirname(import.meta.dirname);

const failing = `
  describe("a suite", () => {
    it("passes", () => undefined);
    it("fails", () => { throw new Error("the first line\\nand another"); });
    it.skip("is skipped", () => undefined);
    describe("within", () => {
      afterEach("tidies up", () => { throw new TypeError("of a hook"); });
      it("passes as well", () => undefined);
    });
  });`;

describe("the results of several test runs", function () {
  // Each process takes a second, and ten on a busy machine.
  this.timeout(300_000);
  let directory: string;
  let counts: string;

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-test-"));
    counts = path.join(directory, "counts");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  /** Runs mocha on a file with this text, as a step of that name. */
  function runTests(step: string, text: string): string {
    const file = path.join(directory, `${step}.test.mjs`);
    writeFileSync(file, text);
    return runMocha(step, [file], counts).stdout;
  }

  function runMocha(step: string, files: readonly string[], into: string): SpawnSyncReturns<string> {
    const mocha = path.join(root, "node_modules/mocha/bin/mocha.js");
    const env = { ...process.env, BUNTING_TEST_COUNTS: into, npm_lifecycle_event: step };
    return spawnSync(process.execPath, [mocha, ...files], { cwd: root, env, encoding: "utf8" });
  }

  const again: RunFiles = (step, files, into) => runMocha(step, files, into).status;

  function total(...failedSteps: string[]): string[] {
    const module = pathToFileURL(path.join(root, "scripts/conclude.ts")).href;
    const script = `import { conclude } from ${JSON.stringify(module)}; conclude(${JSON.stringify(counts)}, ${JSON.stringify(failedSteps)});`;
    const args = ["--import=tsx", "--input-type=module", "--eval", script];
    const env = { ...process.env, XDG_CACHE_HOME: directory };
    return spawnSync(process.execPath, args, { cwd: root, env, encoding: "utf8" }).stdout.trim().split("\n");
  }

  it("end with each failed test, its step and its error, then the sum", () => {
    expect(runTests("test", 'it("passes", () => undefined);')).to.contain("\n1 passed, 0 failed\n");
    expect(runTests("test:later", failing)).to.contain("\n2 passed, 2 failed, 1 skipped\n");

    const file = path.relative(root, path.join(directory, "test:later.test.mjs"));
    expect(total("test:later", "test:never")).to.deep.equal([
      `test:later: ${file}: a suite fails`,
      "    Error: the first line",
      `test:later: ${file}: a suite within "after each" hook: tidies up for "passes as well"`,
      "    TypeError: of a hook",
      "test:never: failed, but not in a test: see its output",
      "3 passed, 2 failed, 1 skipped",
    ]);
  });

  it("name a test that passes when its file is run again, and fail no more for it", () => {
    const mark = JSON.stringify(path.join(directory, "mark"));
    runTests(
      "test:races",
      `import { existsSync, writeFileSync } from "node:fs";
      it("passes", () => undefined);
      it("fails once", () => {
        if (existsSync(${mark})) return;
        writeFileSync(${mark}, "");
        throw new Error("too early");
      });`,
    );
    const runs = runAgain(recordedRuns(counts), counts, again);
    const file = path.relative(root, path.join(directory, "test:races.test.mjs"));
    expect(failureLines(runs, ["test:races"])).to.deep.equal([
      `test:races: ${file}: fails once (UNSTABLE: passed when its file was run again; mend it)`,
      "    Error: too early",
    ]);
    expect(summaryLine(totalOf(runs))).to.equal("2 passed, 0 failed");
    expect(failedFor(runs, ["test:races", "test:helm"])).to.deep.equal(["test:helm"]);
  });

  it("fail for a test that fails again", () => {
    runTests("test:broken", failing);
    const runs = runAgain(recordedRuns(counts), counts, again);
    expect(summaryLine(totalOf(runs))).to.equal("2 passed, 2 failed, 1 skipped");
    expect(failedFor(runs, [])).to.deep.equal(["test:broken"]);
    expect(failureLines(runs, [])[0]).not.to.contain("UNSTABLE");
  });

  it("fail without another try where many tests failed, or something else than tests", () => {
    const failure = { title: "a test", file: "a.test.ts", error: "an error" };
    const run: TestRun = { step: "test", passed: 1, failed: 1, skipped: 0, failures: [failure] };
    const never: RunFiles = () => expect.fail("it was run again");
    const many = { ...run, failed: 12, failures: Array.from({ length: 12 }, () => failure) };
    expect(failedFor(runAgain([many], counts, never), ["test"])).to.deep.equal(["test"]);
    const killed = { ...run, failures: [] };
    expect(failedFor(runAgain([killed], counts, never), ["test"])).to.deep.equal(["test"]);
    // Killed after its last test, in a run of which a test passed the second time.
    const resolved = { ...run, failed: 0, failures: [{ ...failure, passedAgain: true }] };
    expect(failedFor([resolved, killed], ["test"])).to.deep.equal(["test"]);
    expect(failureLines([resolved, killed], ["test"])[2]).to.contain("did not end after its last test");
  });

  it("are the sum alone where nothing failed", () => {
    expect(
      failureLines([{ step: "test", passed: 1, failed: 0, skipped: 0, failures: [] }], []),
    ).to.deep.equal([]);
  });
});
