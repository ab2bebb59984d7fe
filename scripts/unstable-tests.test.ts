import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { failedFor, failureLines, summaryLine, totalOf, type TestRun } from "./test-counts.js";
import { rememberUnstable } from "./unstable-tests.js";

const dayMs = 24 * 60 * 60_000;

describe("tests that pass when they are run again", () => {
  let directory: string;
  let file: string;
  let nowMs: number;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-unstable-"));
    file = path.join(directory, "gate", "unstable-tests.json");
    nowMs = Date.parse("2026-11-26T14:00:00Z");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const runOf = (title: string): TestRun => {
    const failure = { title, file: "a.test.ts", error: "too early", passedAgain: true };
    return { step: "test", passed: 5, failed: 0, skipped: 0, failures: [failure] };
  };
  const remember = (title: string): TestRun[] => rememberUnstable([runOf(title)], file, () => nowMs);

  it("are no failure the first time", () => {
    const runs = remember("races");
    expect(failedFor(runs, ["test"])).to.deep.equal([]);
    expect(summaryLine(totalOf(runs))).to.equal("5 passed, 0 failed");
  });

  it("are a failure the second time within 14 days, and say when the first was", () => {
    remember("races");
    nowMs += 13 * dayMs;
    const runs = remember("races");
    expect(failedFor(runs, ["test"])).to.deep.equal(["test"]);
    expect(summaryLine(totalOf(runs))).to.equal("4 passed, 1 failed");
    expect(failureLines(runs, ["test"])[0]).to.equal(
      "test: a.test.ts: races (UNSTABLE for the second time: it passed when its file was run again, as on 2026-11-26; twice within 14 days is a failure)",
    );
  });

  it("are forgotten after 14 days, and never taken for one another", () => {
    remember("races");
    expect(failedFor(remember("another"), ["test"])).to.deep.equal([]);
    nowMs += 15 * dayMs;
    expect(failedFor(remember("races"), ["test"])).to.deep.equal([]);
  });

  it("are only those: a test that failed again stays a failure, and is not remembered", () => {
    const broken: TestRun = {
      step: "test",
      passed: 1,
      failed: 1,
      skipped: 0,
      failures: [{ title: "is broken", file: "a.test.ts", error: "an error" }],
    };
    expect(rememberUnstable([broken], file, () => nowMs)).to.deep.equal([broken]);
    expect(failedFor(remember("is broken"), ["test"])).to.deep.equal([]);
    expect(
      rememberUnstable([broken], file, () => nowMs),
      "now broken for good",
    ).to.deep.equal([broken]);
  });
});
