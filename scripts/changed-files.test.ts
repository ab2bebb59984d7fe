import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { changedSince } from "./changed-files.js";

describe("changedSince", () => {
  let directory: string;

  const git = (...args: readonly string[]): void => {
    const identity = [
      "-c",
      "user.name=test",
      "-c",
      "user.email=test@localhost",
      "-c",
      "commit.gpgsign=false",
    ];
    const { status, stderr } = spawnSync("git", [...identity, ...args], { cwd: directory, encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  };
  const commit = (file: string, text: string): void => {
    writeFileSync(path.join(directory, file), text);
    git("add", file);
    git("commit", "-qm", file);
  };

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-test-"));
    git("init", "-q", "-b", "main");
    commit("kept.ts", "1");
    commit("gone.ts", "1");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it("names what a branch has committed, changed, removed and added, and not what main has since", () => {
    git("checkout", "-q", "-b", "branch");
    commit("committed.ts", "1");
    git("checkout", "-q", "main");
    commit("of main.ts", "1");
    git("checkout", "-q", "branch");
    git("rm", "-q", "gone.ts");
    writeFileSync(path.join(directory, "committed.ts"), "2");
    writeFileSync(path.join(directory, "new file.ts"), "1");
    expect(changedSince("main", directory)).to.deep.equal(["committed.ts", "gone.ts", "new file.ts"]);
  });

  it("names nothing on a clean checkout, and says if there is no such commit", () => {
    expect(changedSince("HEAD", directory)).to.deep.equal([]);
    expect(() => changedSince("nowhere", directory)).to.throw("nowhere");
  });
});
