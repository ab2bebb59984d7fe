import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { LastWords } from "./last-words.js";

describe("what processes of a failed test said last", () => {
  it("has the last lines of each, also of one that has ended meanwhile", () => {
    const words = new LastWords();
    const lines = Array.from({ length: 50 }, (_, line) => `line ${line}`);
    words.add({ pid: 1, hasEnded: false, output: lines.join("\n") }, "agent");
    words.add({ pid: 2, hasEnded: true, output: "only this" }, "proxy");
    const said = words.said().split("\n");
    expect(said.slice(0, 2)).to.deep.equal(["agent (1), 40 of 50 lines:", "  line 10"]);
    expect(said.slice(-2)).to.deep.equal(["proxy (2), 1 of 1 lines:", "  only this"]);
    words.forgetEnded();
    expect(words.said(), "of the next test").to.contain("agent").and.not.contain("proxy");
  });

  it("are printed where a test fails, and where a hook before it does, for which mocha calls no afterEach", function () {
    this.timeout(60_000);
    const directory = mkdtempSync(path.join(tmpdir(), "bunting-test-"));
    const file = path.join(directory, "fails.test.ts");
    const module = path.join(import.meta.dirname, "last-words.js");
    const start = (name: string): string =>
      `lastWords.add({ pid: 1, hasEnded: true, output: "I am gone" }, "${name}"); throw new Error("failed");`;
    writeFileSync(
      file,
      `import { lastWords } from ${JSON.stringify(module)};
       describe("a hook", () => { before(() => { ${start("first")} }); it("never runs", () => undefined); });
       describe("then", () => { it("a test", () => { ${start("second")} }); });`,
    );
    const root = path.join(import.meta.dirname, "../..");
    const mocha = path.join(root, "node_modules/mocha/bin/mocha.js");
    const env = { ...process.env, BUNTING_TEST_COUNTS: path.join(directory, "counts") };
    const { stderr } = spawnSync(process.execPath, [mocha, file], { cwd: root, env, encoding: "utf8" });
    rmSync(directory, { recursive: true });
    expect(stderr).to.contain(
      `"a hook "before all" hook for "never runs"" said last:\nfirst (1), 1 of 1 lines`,
    );
    expect(stderr, "without those of the hook").to.contain(
      `"then a test" said last:\nsecond (1), 1 of 1 lines:\n  I am gone`,
    );
  });
});
