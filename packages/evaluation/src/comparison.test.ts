import { expect } from "chai";
import { isEqual, isLess, isStrictlyEqual } from "./comparison.js";
import { Scope } from "./scope.js";
import { integerZero } from "./value.js";

const scope = new Scope(Date).begin({}, "flag");

describe("isEqual", () => {
  it("lets null equal null alone", () => {
    expect(isEqual(null, null, scope)).to.equal(true);
    for (const value of [0, false, "", []]) expect(isEqual(null, value, scope)).to.equal(false);
  });

  it("compares texts as texts, and everything else as numbers", () => {
    expect(isEqual("1", "1.0", scope)).to.equal(false);
    expect(isEqual("1.0", 1, scope)).to.equal(true);
    expect(isEqual(true, 1, scope)).to.equal(true);
    expect(isEqual(true, "true", scope)).to.equal(false);
    expect(isEqual("", 0, scope)).to.equal(true);
  });

  it("lets lists and objects equal nothing, not even themselves", () => {
    const list = [1];
    expect(isEqual(list, list, scope)).to.equal(false);
  });
});

describe("isStrictlyEqual", () => {
  it("needs both to have the same type", () => {
    expect(isStrictlyEqual(1, 1, scope)).to.equal(true);
    expect(isStrictlyEqual("1", 1, scope)).to.equal(false);
    expect(isStrictlyEqual(true, 1, scope)).to.equal(false);
    expect(isStrictlyEqual(null, null, scope)).to.equal(true);
    expect(isStrictlyEqual(0, integerZero, scope)).to.equal(false);
  });
});

describe("isLess", () => {
  it("orders texts by their UTF-8 bytes", () => {
    expect(isLess("a", "b", scope)).to.equal(true);
    expect(isLess("10", "9", scope)).to.equal(true);
    // In UTF-16, the surrogates of the emoji would come first.
    expect(isLess("\uffee", "😀", scope)).to.equal(true);
  });

  it("compares everything else as numbers; NaN is less than none", () => {
    expect(isLess("9", 10, scope)).to.equal(true);
    expect(isLess(null, 1, scope)).to.equal(true);
    expect(isLess("x", 1, scope) || isLess(1, "x", scope)).to.equal(false);
  });
});
