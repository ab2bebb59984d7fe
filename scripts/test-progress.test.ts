import { expect } from "chai";
import { TestProgress } from "./test-progress.js";

describe("progress of tests", () => {
  let nowMs: number;
  let written: string[];
  let progress: TestProgress;
  beforeEach(() => {
    nowMs = 0;
    written = [];
    progress = new TestProgress({
      mochas: 2,
      isTerminal: false,
      now: () => nowMs,
      write: (text) => void written.push(text),
    });
  });

  it("says how many of how many tests and files have ended, where each mocha is, and what is slow", () => {
    progress.report(0, { kind: "began", files: 2, tests: 10 });
    expect(progress.line()).to.equal("bunting: 0:00: 0 of 10 or more tests, 0 of 2 files");
    progress.report(1, { kind: "began", files: 3, tests: 30 });
    progress.report(0, { kind: "file", file: "packages/kube/src/reflector/a.test.ts" });
    progress.report(1, { kind: "file", file: "test/abuse/b.test.ts" });
    progress.report(1, { kind: "test", file: "test/abuse/b.test.ts" });
    nowMs = 72_000;
    progress.report(0, { kind: "file", file: "packages/kube/src/pod.test.ts" });
    expect(progress.line()).to.equal(
      "bunting: 1:12: 1 of 40 tests, 1 of 5 files; in packages/kube, test/abuse/b.test.ts (72 s)",
    );
  });

  it("names a failure as it happens, and counts it", () => {
    progress.report(0, { kind: "began", files: 1, tests: 1 });
    progress.report(1, { kind: "began", files: 1, tests: 1 });
    progress.report(1, { kind: "file", file: "a.test.ts" });
    progress.report(1, { kind: "failed", file: "a.test.ts", title: "a test" });
    progress.report(1, { kind: "test", file: "a.test.ts" });
    progress.report(1, { kind: "ended", counts: { passed: 0, failed: 1, skipped: 0 } });
    expect(written).to.deep.equal(["bunting: failed: a.test.ts: a test\n"]);
    expect(progress.line()).to.equal("bunting: 0:00: 1 of 2 tests, 1 of 2 files, 1 failed");
  });

  it("ends with the slowest files of all mochas", () => {
    nowMs = 30_000;
    progress.report(0, { kind: "test", file: "slow.test.ts" });
    nowMs = 45_000;
    progress.report(1, { kind: "test", file: "slower.test.ts" });
    expect(progress.slowest()).to.deep.equal(["   45 s slower.test.ts", "   30 s slow.test.ts"]);
  });
});
