import { expect } from "chai";
import { canonicalJsonText, requireWritable } from "./json-text.js";
import { Scope } from "./scope.js";
import { RuleFailure } from "./rule-failure.js";
import { integerZero } from "./value.js";

describe("jsonText", () => {
  it("sorts keys by their bytes and writes no white space", () => {
    expect(canonicalJsonText({ b: [1, null, true], a: {}, "10": 1, "9": 2 })).to.equal(
      '{"10":1,"9":2,"a":{},"b":[1,null,true]}',
    );
  });

  it("escapes what Go's encoder escapes", () => {
    expect(canonicalJsonText('<a&b> "\\ \n\b\u001f\u2028\u007fé😀')).to.equal(
      '"\\u003ca\\u0026b\\u003e \\"\\\\ \\n\\b\\u001f\\u2028\u007fé😀"',
    );
  });

  it("writes half a surrogate pair as the replacement character", () => {
    expect(canonicalJsonText("a\ud800")).to.equal('"a\ufffd"');
  });

  it("writes numbers as Go does: the sign of zero kept, an exponent from 1e21 on", () => {
    expect([-0, 1e20, 1e21, 1e-7, integerZero].map(canonicalJsonText)).to.deep.equal([
      "-0",
      "100000000000000000000",
      "1e+21",
      "1e-7",
      "0",
    ]);
  });

  it("fails for a number that JSON can't write, wherever it is", () => {
    const scope = new Scope(Date);
    for (const value of [NaN, [Infinity], { a: [{ b: -Infinity }] }]) {
      expect(() => canonicalJsonText(value)).to.throw(RuleFailure);
      expect(() => requireWritable(value, scope)).to.throw(RuleFailure);
    }
    expect(() => requireWritable({ a: [1, "x", null] }, scope)).not.to.throw();
  });
});
