import { expect } from "chai";
import fc from "fast-check";
import { RuleFailure } from "./rule-failure.js";
import { numberText, toText } from "./to-text.js";
import { integerZero } from "./value.js";

describe("numberText", () => {
  it("never writes an exponent", () => {
    expect([1e21, 1.5e21, -1e22, 1e-7, 1.25e-10, 5e-324].map(numberText)).to.deep.equal([
      "1000000000000000000000",
      "1500000000000000000000",
      "-10000000000000000000000",
      "0.0000001",
      "0.000000000125",
      `0.${"0".repeat(323)}5`,
    ]);
  });

  it("keeps the sign of zero", () => expect([0, -0].map(numberText)).to.deep.equal(["0", "-0"]));

  it("has words for numbers that are not finite", () => {
    expect([Infinity, -Infinity, NaN].map(numberText)).to.deep.equal(["+Inf", "-Inf", "NaN"]);
  });

  it("writes digits that parse to the same number", () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(
        finite,
        (number) => Object.is(Number(numberText(number)), number) && !numberText(number).includes("e"),
      ),
    );
  });
});

describe("toText", () => {
  it("gives the empty text for null and digits for numbers", () => {
    expect([null, "x", 1.5, integerZero].map(toText)).to.deep.equal(["", "x", "1.5", "0"]);
  });

  it("fails for lists, objects and booleans", () => {
    for (const value of [true, [], {}]) expect(() => toText(value)).to.throw(RuleFailure);
  });
});
