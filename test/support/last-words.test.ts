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
});
