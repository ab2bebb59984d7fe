import { expect } from "chai";
import { compile } from "../compile.js";
import type { EvaluationContext } from "../resolution.js";
import { RuleFailure } from "../rule-failure.js";
import { Scope } from "../scope.js";
import type { Value } from "../value.js";

describe("<, <=, >, >=", () => {
  it("compare two values", () => {
    expect(run({ "<": [1, "2"] })).to.equal(true);
    expect(run({ ">=": [{ var: "age" }, 18] }, { age: 18 })).to.equal(true);
    expect(run({ ">": ["b", "a"] })).to.equal(true);
  });

  it("take a third value as the other end of a range, and ignore it if there is a fourth", () => {
    expect(run({ "<": [1, 2, 3] })).to.equal(true);
    expect(run({ "<": [1, 2, 2] })).to.equal(false);
    expect(run({ "<=": [1, 2, 2] })).to.equal(true);
    expect(run({ ">": [3, 2, 1] })).to.equal(true);
    expect(run({ ">=": [3, 3, 4] })).to.equal(false);
    expect(run({ "<": [1, 2, 0, 0] })).to.equal(true);
  });

  it("are false with fewer than two values, and fail without a list", () => {
    expect(run({ "<": [1] })).to.equal(false);
    expect(() => run({ "<": 1 })).to.throw(RuleFailure);
  });

  it("take their arguments from a list in the context", () => {
    expect(run({ "<": { var: "pair" } }, { pair: [1, 2] })).to.equal(true);
  });
});

describe("==, !=, ===, !==", () => {
  it("are each other's opposite", () => {
    expect([run({ "==": [1, "1"] }), run({ "!=": [1, "1"] })]).to.deep.equal([true, false]);
    expect([run({ "===": [1, "1"] }), run({ "!==": [1, "1"] })]).to.deep.equal([false, true]);
  });

  it("call fewer than two values unequal", () => {
    expect(run({ "==": [1] })).to.equal(false);
    expect(run({ "!==": [] })).to.equal(true);
  });

  it("fail without a list, except for the strict ones", () => {
    expect(() => run({ "==": 1 })).to.throw(RuleFailure);
    expect(run({ "===": 1 })).to.equal(false);
    expect(run({ "!==": null })).to.equal(true);
  });
});

function run(rule: Value, context: EvaluationContext = {}): Value {
  return compile(rule)(context, new Scope(Date).begin(context, "the-flag"));
}
