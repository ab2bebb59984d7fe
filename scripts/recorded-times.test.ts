import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import {
  mergedDurations,
  readDurations,
  readTimes,
  secondsOf,
  timesAsLines,
  writeDurations,
} from "./recorded-times.js";

describe("recorded times of test files", () => {
  let directory: string;
  let file: string;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-times-"));
    file = path.join(directory, "durations.json");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it("are written sorted by file, and read again", () => {
    const durations = new Map([
      ["packages/b.test.ts", 2.5],
      ["packages/a.test.ts", 40],
    ]);
    writeDurations(durations, file);
    expect(readFileSync(file, "utf8")).to.equal(
      '{\n  "packages/a.test.ts": 40,\n  "packages/b.test.ts": 2.5\n}\n',
    );
    expect([...readDurations(file)].sort()).to.deep.equal([...durations].sort());
  });

  it("take over what was measured, rounded, keep what was not, and forget files that are gone", () => {
    const recorded = new Map([
      ["gone.test.ts", 5],
      ["kept.test.ts", 7],
      ["slower.test.ts", 1],
    ]);
    const measured = new Map([
      ["slower.test.ts", 41.72],
      ["new.test.ts", 3.26],
      ["at-once.test.ts", 0.004],
    ]);
    const merged = mergedDurations(recorded, measured, (name) => name !== "gone.test.ts");
    expect(Object.fromEntries(merged)).to.deep.equal({
      "kept.test.ts": 7,
      "slower.test.ts": 42,
      "new.test.ts": 3.3,
      "at-once.test.ts": 0.1,
    });
  });

  it("are the longest of those that several runs have appended", () => {
    writeFileSync(
      file,
      timesAsLines(new Map([["a.test.ts", 2]])) + timesAsLines(new Map([["a.test.ts", 1]])),
    );
    expect(Object.fromEntries(readTimes(file))).to.deep.equal({ "a.test.ts": 2 });
  });

  it("have a value for a file that was never recorded", () => {
    expect(secondsOf(new Map(), "new.test.ts")).to.be.greaterThan(0);
    expect(secondsOf(new Map([["a.test.ts", 0.3]]), "a.test.ts")).to.equal(0.3);
  });
});
