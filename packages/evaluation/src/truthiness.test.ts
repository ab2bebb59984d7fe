import { expect } from "chai";
import { isTruthy } from "./truthiness.js";
import { integerZero } from "./value.js";

describe("isTruthy", () => {
  it("is false for nothing, zero, and what is empty", () => {
    for (const value of [null, false, 0, -0, integerZero, "", [], {}])
      expect(isTruthy(value)).to.equal(false);
  });

  it("is true for all else, also for not-a-number and for lists of nothing", () => {
    for (const value of [true, 1, NaN, "0", "false", [null], { a: null }])
      expect(isTruthy(value)).to.equal(true);
  });
});
