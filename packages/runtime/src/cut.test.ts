import { expect } from "chai";
import { cut, cutToBytes } from "./cut.js";

describe("cut", () => {
  it("keeps short texts, and the beginning of long ones", () => {
    expect(cut("short", 5)).to.equal("short");
    expect(cut("longer", 5)).to.equal("lo...");
  });
});

describe("cutToBytes", () => {
  it("keeps as many whole characters as fit", () => {
    expect(cutToBytes("aéi", 4)).to.equal("aéi");
    expect(cutToBytes("aéi", 3)).to.equal("aé");
    expect(cutToBytes("aéi", 2)).to.equal("a");
    expect(cutToBytes("🙂", 3)).to.equal("");
  });
});
