import { expect } from "chai";
import { compile } from "../compile.js";
import type { EvaluationContext } from "../resolution.js";
import { RuleFailure } from "../rule-failure.js";
import { Scope } from "../scope.js";
import type { Value } from "../value.js";

describe("+, -, *, /, %", () => {
  it("calculate with two values or more", () => {
    expect(run({ "+": [1, "2", 3.5] })).to.equal(6.5);
    expect(run({ "-": [5, 2, 1] })).to.equal(2);
    expect(run({ "*": [2, 3, "4"] })).to.equal(24);
    expect(run({ "/": [12, 2, 3] })).to.equal(2);
    expect(run({ "%": [-7, 3] })).to.equal(-1);
  });

  it("accept one value, or none", () => {
    expect(run({ "+": "5" })).to.equal(5);
    expect(run({ "+": [] })).to.equal(0);
    expect(run({ "-": ["5"] })).to.equal(-5);
    expect(run({ "*": [] })).to.equal(1);
    expect(run({ "/": [5] })).to.equal(5);
  });

  it("give Go's integer, which is strictly equal to no other zero, for nothing minus nothing", () => {
    expect(run({ "==": [{ "-": [] }, 0] })).to.equal(true);
    expect(run({ "===": [{ "-": [] }, 0] })).to.equal(false);
    expect(run({ "===": [{ "-": [] }, { "/": [] }] })).to.equal(true);
    expect(run({ in: [{ "-": [] }, [0]] })).to.equal(false);
  });

  it("take text that is not a number as zero, and fail for null, booleans and lists", () => {
    expect(run({ "+": ["x", 1] })).to.equal(1);
    for (const value of [null, true, [1]]) expect(() => run({ "+": [value, 1] })).to.throw(RuleFailure);
    expect(() => run({ "-": 5 })).to.throw(RuleFailure);
    expect(() => run({ "%": [5] })).to.throw(RuleFailure);
  });

  it("divide by zero", () => {
    expect(run({ "/": [1, 0] })).to.equal(Infinity);
    expect(run({ ">": [{ "/": [1, 0] }, 5] })).to.equal(true);
  });

  it("add two minus zeros up to zero", () => {
    expect(Object.is(run({ "+": [-0, -0] }), 0)).to.equal(true);
  });
});

describe("min, max, abs", () => {
  it("find the extreme of all values", () => {
    expect(run({ max: [1, "3", 2] })).to.equal(3);
    expect(run({ min: [1, "x", 2] })).to.equal(0);
    expect(run({ max: { var: "list" } }, { list: [4, 9] })).to.equal(9);
    expect(run({ max: [] })).to.equal(null);
  });

  it("keep NaN if it comes first", () => {
    expect(run({ max: ["nan", 3] })).to.be.NaN;
    expect(run({ max: [3, "nan"] })).to.equal(3);
  });

  it("remove the sign of the first value", () => {
    expect(run({ abs: [-5, 3] })).to.equal(5);
    expect(run({ abs: "-2.5" })).to.equal(2.5);
    expect(() => run({ abs: [] })).to.throw(RuleFailure);
  });
});

function run(rule: Value, context: EvaluationContext = {}): Value {
  return compile(rule)(context, new Scope(Date).begin(context, "the-flag"));
}
