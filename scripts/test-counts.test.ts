import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { failureLines } from "./test-counts.js";

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
    const mocha = path.join(root, "node_modules/mocha/bin/mocha.js");
    const env = { ...process.env, BUNTING_TEST_COUNTS: counts, npm_lifecycle_event: step };
    return spawnSync(process.execPath, [mocha, file], { cwd: root, env, encoding: "utf8" }).stdout;
  }

  function total(...failedSteps: string[]): string[] {
    const script = path.join(root, "scripts/total.ts");
    const args = ["--import=tsx", script, counts, ...failedSteps];
    return spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" }).stdout.trim().split("\n");
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

  it("are the sum alone where nothing failed", () => {
    expect(
      failureLines([{ step: "test", passed: 1, failed: 0, skipped: 0, failures: [] }], []),
    ).to.deep.equal([]);
  });
});
