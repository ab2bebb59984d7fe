import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync, type SpawnSyncReturns } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { recordedRuns, totalOf } from "./test-counts.js";

describe("groups of tests that run at once", function () {
  // Each process takes a second, and ten on a busy machine.
  this.timeout(300_000);
  let directory: string;
  let counts: string;

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-test-"));
    counts = path.join(directory, "counts");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  /** Runs a group for each text of tests, in a process whose output can be looked at. */
  function run(...tests: readonly string[]): SpawnSyncReturns<string> {
    const groups = tests.map((text, index) => {
      const file = path.join(directory, `${index}.test.mjs`);
      writeFileSync(file, text);
      return [file];
    });
    const module = pathToFileURL(path.join(import.meta.dirname, "test-groups.ts")).href;
    const script = `import { runGroups } from ${JSON.stringify(module)}; process.exitCode = await runGroups(${JSON.stringify(groups)});`;
    return spawnSync(process.execPath, ["--import=tsx", "--input-type=module", "--eval", script], {
      cwd: path.dirname(import.meta.dirname),
      env: { ...process.env, BUNTING_TEST_COUNTS: counts },
      encoding: "utf8",
    });
  }

  it("end with the sum of all, after what each has printed", () => {
    const { stdout, status } = run(
      `it("passes", () => undefined); it("too", () => undefined);`,
      `it("says something", () => console.log("a word"));`,
    );
    expect(status).to.equal(0);
    expect(stdout).to.match(/\n2 passed, 0 failed\n/);
    expect(stdout).to.match(/2 of 2 runs at once:\na word\n[^-]*\n1 passed, 0 failed\n/);
    expect(stdout).to.match(/\n3 passed, 0 failed\n$/);
    expect(totalOf(recordedRuns(counts))).to.deep.equal({ passed: 3, failed: 0, skipped: 0 });
  });

  it("fail if a test of any group fails", () => {
    const { stdout, stderr, status } = run(
      `it("passes", () => undefined);`,
      `it("fails", () => { throw new Error("on purpose"); });`,
    );
    expect(status).to.equal(1);
    expect(stderr, "as it happens").to.match(/^bunting: failed: .*1\.test\.mjs: fails$/m);
    expect(stdout).to.match(/on purpose[^]*\n1 passed, 1 failed\n$/);
  });

  it("have ports of their own", () => {
    const printSlot = `it("has a slot", () => console.log("slot " + process.env.BUNTING_TEST_SLOT));`;
    const { stdout } = run(printSlot, printSlot, printSlot);
    const slots = [...stdout.matchAll(/slot (\d+)/g)].map(([, slot]) => slot);
    expect(slots).to.have.lengthOf(3);
    expect(new Set(slots).size).to.equal(3);
  });

  it("fail if a group ends before its tests have", () => {
    const { stdout, stderr, status } = run(
      `it("passes", () => undefined);`,
      `it("never ends", () => new Promise(() => process.exit(0)));`,
    );
    expect(stderr).to.include("1 of 2 runs of mocha ended before their tests had");
    expect(stdout).to.match(/\n1 passed, 1 failed\n$/);
    expect(status).to.equal(1);
    expect(totalOf(recordedRuns(counts)).failed, "what the gate counts").to.equal(1);
  });
});
