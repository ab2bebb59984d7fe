import { expect } from "chai";
import { isTruthy } from "./truthiness.js";
import { integerZero } from "./value.js";

describe("isTruthy", () => {
  it("is false for null, zero, and empty values", () => {
    for (const value of [null, false, 0, -0, integerZero, "", [], {}])
      expect(isTruthy(value)).to.equal(false);
  });

  it("is true for everything else, including NaN and a list of null", () => {
    for (const value of [true, 1, NaN, "0", "false", [null], { a: null }])
      expect(isTruthy(value)).to.equal(true);
  });

  it("lists the names of an object once, however often it is looked at", () => {
    let lists = 0;
    const value = new Proxy(
      { a: 1 },
      {
        ownKeys: (target) => {
          lists++;
          return Reflect.ownKeys(target);
        },
      },
    );
    for (let i = 0; i < 10; i++) expect(isTruthy(value)).to.equal(true);
    expect(lists).to.equal(1);
  });
});
