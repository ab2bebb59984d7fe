import { expect } from "chai";
import { RuleFailure } from "./rule-failure.js";
import { Scope } from "./scope.js";
import { coerceToNumber, toInteger, toNumber } from "./to-number.js";
import { integerZero } from "./value.js";

const scope = new Scope(Date).begin({}, "flag");

describe("toNumber", () => {
  it("takes text that is not a number as zero", () => {
    expect(["5", "x", "", " 5 ", "1e999"].map((text) => toNumber(text, scope))).to.deep.equal([
      5,
      0,
      0,
      0,
      Infinity,
    ]);
  });

  it("fails for a value that is neither number nor text", () => {
    for (const value of [null, true, [1], { a: 1 }])
      expect(() => toNumber(value, scope)).to.throw(RuleFailure);
  });

  it("converts Go's integer", () => expect(toNumber(integerZero, scope)).to.equal(0));
});

describe("coerceToNumber", () => {
  it("gives null, false and blank text as zero, and true as one", () => {
    expect([null, false, "", " \u0085 ", true].map((value) => coerceToNumber(value, scope))).to.deep.equal([
      0, 0, 0, 0, 1,
    ]);
  });

  it("gives NaN for lists, objects, and text that is not a number or has space around it", () => {
    for (const value of [[], [1], {}, "x", " 5 "]) expect(coerceToNumber(value, scope)).to.be.NaN;
  });

  it("takes the word infinity as a number, but not digits that are too large for one", () => {
    expect(coerceToNumber("-inf", scope)).to.equal(-Infinity);
    expect(coerceToNumber("1e999", scope)).to.be.NaN;
  });
});

describe("toInteger", () => {
  it("removes the fraction", () => expect([2.9, -2.9, -0.5].map(toInteger)).to.deep.equal([2, -2, 0]));

  it("gives the smallest integer for a number that does not fit into 64 bits", () => {
    for (const number of [NaN, Infinity, -Infinity, 1e19, 2 ** 63])
      expect(toInteger(number)).to.equal(-(2 ** 63));
  });
});
