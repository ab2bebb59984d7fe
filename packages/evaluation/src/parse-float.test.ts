import { expect } from "chai";
import fc from "fast-check";
import { parseFloatText } from "./parse-float.js";

describe("parseFloatText", () => {
  it("reads decimal numbers with or without a point, a sign and an exponent", () => {
    const numbers = {
      "5": 5,
      "+5": 5,
      "-5.": -5,
      ".5": 0.5,
      "1e3": 1000,
      "1E-2": 0.01,
      "007": 7,
      "1.5e+1": 15,
    };
    for (const [text, number] of Object.entries(numbers)) expect(parseFloatText(text), text).to.equal(number);
  });

  it("reads hexadecimal numbers that have a binary exponent", () => {
    const numbers = {
      "0x1p4": 16,
      "0X1.8p-2": 0.375,
      "-0x.8p0": -0.5,
      "0xffp0": 255,
      "0x1p-1074": 5e-324,
      "0x1p99999": Infinity,
    };
    for (const [text, number] of Object.entries(numbers)) expect(parseFloatText(text), text).to.equal(number);
    expect(parseFloatText("0x10")).to.equal(undefined);
  });

  it("reads the words for infinity and not-a-number in any case, the latter without a sign", () => {
    expect(parseFloatText("inf")).to.equal(Infinity);
    expect(parseFloatText("-INFINITY")).to.equal(-Infinity);
    expect(parseFloatText("NaN")).to.be.NaN;
    for (const text of ["+nan", "infinit", "infinityx"])
      expect(parseFloatText(text), text).to.equal(undefined);
  });

  it("allows underscores between digits only", () => {
    const numbers = { "1_000": 1000, "1_0.2_5e1_0": 10.25e10, "0x_1p2": 4, "0x1_fp0": 31 };
    for (const [text, number] of Object.entries(numbers)) expect(parseFloatText(text), text).to.equal(number);
    for (const text of ["_1", "1_", "1__0", "1_.5", "1._5", "1_e5", "1e_5", "-_1"]) {
      expect(parseFloatText(text), text).to.equal(undefined);
    }
  });

  it("gives infinity for a number that is too large, and zero for one that is too small", () => {
    expect(parseFloatText("1e999")).to.equal(Infinity);
    expect(parseFloatText("-1e999")).to.equal(-Infinity);
    expect(parseFloatText("1e-999")).to.equal(0);
  });

  it("reads nothing with white space or anything else around the number", () => {
    for (const text of ["", " ", " 1", "1 ", "1a", "--1", "1e", "e5", ".", "0b1", "0o7", "1,5"]) {
      expect(parseFloatText(text), JSON.stringify(text)).to.equal(undefined);
    }
  });

  it("reads back every number that JavaScript writes", () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(fc.property(finite, (number) => Object.is(parseFloatText(String(number)), number + 0)));
  });

  it("refuses long texts that are nearly numbers without backtracking", () => {
    const digits = "1".repeat(200_000);
    for (const text of [`${digits}!`, `0x${digits}!`, `${"1_".repeat(100_000)}!`, `${digits}.${digits}e`]) {
      expect(parseFloatText(text)).to.equal(undefined);
    }
  });
});
