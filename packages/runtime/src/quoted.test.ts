import { expect } from "chai";
import { quoted } from "./quoted.js";

describe("quoted", () => {
  it("puts text in double quotes, with those inside escaped", () => {
    expect(quoted('a "b" \\ c')).to.equal('"a \\"b\\" \\\\ c"');
  });

  it("keeps letters of any script", () => {
    expect(quoted("größe-длина-長さ-😀 e\u0301")).to.equal('"größe-длина-長さ-😀 e\u0301"');
  });

  it("keeps out what is invisible or changes how text is shown", () => {
    expect(quoted("a\u0000\n\u007f\u0085\u009bb")).to.equal('"a\\u0000\\n???b"');
    expect(quoted("a\u202e\u2066\u200f\u061cb")).to.equal('"a????b"');
    expect(quoted("a\u2028\u2029\u00a0\u3000b")).to.equal('"a????b"');
    expect(quoted("a\u200b\u200d\ufeff\u00ad\u3164\u{e0041}b")).to.equal('"a??????b"');
    expect(quoted("a\ud800b\udfff")).to.equal('"a\\ud800b\\udfff"');
    expect(quoted("\ue000")).to.equal('"?"');
  });

  it("cuts long text", () => {
    expect(quoted("x".repeat(80))).to.equal(`"${"x".repeat(80)}"`);
    expect(quoted("x".repeat(81))).to.equal(`"${"x".repeat(77)}..."`);
    expect(quoted("abcdef", 5)).to.equal('"ab..."');
    expect(quoted("😀".repeat(5), 5)).to.equal(`"${"😀".repeat(5)}"`);
    expect(quoted("😀".repeat(6), 5)).to.equal('"😀😀..."');
    expect(quoted("😀".repeat(1_000_000), 5)).to.equal('"😀😀..."');
  });
});
