import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { PassedFiles } from "./passed-files.js";

describe("PassedFiles", () => {
  let directory: string;
  beforeEach(() => (directory = mkdtempSync(path.join(tmpdir(), "bunting-passed-"))));
  afterEach(() => rmSync(directory, { recursive: true }));

  const now = (digests: Readonly<Record<string, string>>): PassedFiles =>
    new PassedFiles(path.join(directory, "kept/passed"), new Map(Object.entries(digests)));

  it("leave all to be checked at first", () => {
    expect(now({ "a.ts": "1", "b.ts": "2" }).left).to.deep.equal(["a.ts", "b.ts"]);
  });

  it("leave what was changed, and what did not pass", () => {
    now({ "a.ts": "1", "b.ts": "2", "c.ts": "3" }).passedBut(new Set(["b.ts"]));
    expect(now({ "a.ts": "1", "b.ts": "2", "c.ts": "4" }).left).to.deep.equal(["b.ts", "c.ts"]);
  });

  it("know what passed on another branch", () => {
    now({ "a.ts": "1" }).passedBut(new Set());
    now({ "a.ts": "2" }).passedBut(new Set());
    expect(now({ "a.ts": "1" }).left).to.deep.equal([]);
  });

  it("forget the oldest once there are many", () => {
    for (let branch = 0; branch < 20; branch++) now({ "a.ts": String(branch) }).passedBut(new Set());
    expect(now({ "a.ts": "0" }).left).to.deep.equal(["a.ts"]);
    expect(now({ "a.ts": "18" }).left).to.deep.equal([]);
  });
});
