import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { writeChecksums } from "./checksums.js";

describe("the checksums of a release", () => {
  const directory = mkdtempSync(path.join(tmpdir(), "bunting-checksums-"));
  after(() => rmSync(directory, { recursive: true }));

  it("are of all files, and sha256sum notices a change in each", () => {
    const names = ["notes.md", "images/agent/oci-layout", "packages/bunting-1.0.0.tgz"];
    for (const name of names) {
      mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
      writeFileSync(path.join(directory, name), name);
    }
    writeChecksums(directory);
    // Made again, they are the same: they do not count themselves.
    writeChecksums(directory);
    const listed = readFileSync(path.join(directory, "SHA256SUMS"), "utf8").trimEnd().split("\n");
    expect(listed.map((line) => line.split("  ")[1])).to.deep.equal([...names].sort());
    const check = ["--check", "--quiet", "SHA256SUMS"];
    expect(execFileSync("sha256sum", check, { cwd: directory, encoding: "utf8" })).to.equal("");
    for (const name of names) {
      writeFileSync(path.join(directory, name), "changed");
      const { status, stdout } = spawnSync("sha256sum", check, { cwd: directory, encoding: "utf8" });
      expect([status, stdout]).to.deep.equal([1, `${name}: FAILED\n`]);
      writeFileSync(path.join(directory, name), name);
    }
  });
});
