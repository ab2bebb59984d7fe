import { expect } from "chai";
import { quoted } from "./quoted.js";

describe("quoted", () => {
  it("puts text in double quotes, with those inside escaped", () => {
    expect(quoted('a "b" \\ c')).to.equal('"a \\"b\\" \\\\ c"');
  });

  it("writes printable ASCII only", () => {
    expect(quoted("a\u0000\n\u007fé\u202eb")).to.equal('"a\\u0000\\n???b"');
  });

  it("cuts long text", () => {
    expect(quoted("x".repeat(80))).to.equal(`"${"x".repeat(80)}"`);
    expect(quoted("x".repeat(81))).to.equal(`"${"x".repeat(77)}..."`);
    expect(quoted("abcdef", 5)).to.equal('"ab..."');
  });
});
