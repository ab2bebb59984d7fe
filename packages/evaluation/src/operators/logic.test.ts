import { expect } from "chai";
import { compile } from "../compile.js";
import type { EvaluationContext } from "../resolution.js";
import { RuleFailure } from "../rule-failure.js";
import { Scope } from "../scope.js";
import type { Value } from "../value.js";

describe("if", () => {
  it("gives the result of the first true condition, else the last argument, else null", () => {
    expect(run({ if: [false, 1, 0, 2, "x", 3, 4] })).to.equal(3);
    expect(run({ if: [false, 1, 2] })).to.equal(2);
    expect(run({ "?:": [false, 1] })).to.equal(null);
    expect(run({ if: ["alone"] })).to.equal("alone");
    expect(run({ if: [] })).to.equal(null);
  });

  it("does not evaluate arguments that are not reached", () => {
    expect(run({ if: [true, 1, { nope: [] }] })).to.equal(1);
    expect(run({ if: [true, 1, { nope: [] }, 2, { nope: [] }] })).to.equal(1);
    expect(() => run({ if: [false, 1, { nope: [] }] })).to.throw(RuleFailure, 'no operator "nope"');
  });

  it("needs its arguments written out", () => {
    expect(() => run({ if: { var: "list" } }, { list: [true, 1] })).to.throw(RuleFailure);
    expect(() => run({ if: "x" })).to.throw(RuleFailure);
  });

  it("runs a result that is an object as a rule again, and keeps one with several keys", () => {
    expect(run({ if: [true, { var: "o" }] }, { o: { "+": [1, 2] } })).to.equal(3);
    expect(run({ if: [true, { var: "o" }] }, { o: { a: 1, b: 2 } })).to.deep.equal({ a: 1, b: 2 });
    expect(() => run({ if: [true, { var: "o" }] }, { o: { p: 1 } })).to.throw(RuleFailure, 'no operator "p"');
  });

  it("fails, and does not crash, on data that contains itself", () => {
    const o = { if: [true, { var: "o" }] };
    expect(() => run({ if: [true, { var: "o" }] }, { o })).to.throw(RuleFailure, "contains itself");
  });
});

describe("and, or", () => {
  it("give the first value that decides, else the last", () => {
    expect(run({ and: [1, "", { nope: [] }] })).to.equal("");
    expect(run({ and: [1, "x"] })).to.equal("x");
    expect(run({ or: [0, "x", { nope: [] }] })).to.equal("x");
    expect(run({ or: [0, ""] })).to.equal("");
    expect(run({ and: [] })).to.equal(null);
  });

  it("need their arguments written out", () => {
    expect(() => run({ and: true })).to.throw(RuleFailure);
    expect(() => run({ or: { var: "list" } }, { list: [1] })).to.throw(RuleFailure);
  });
});

describe("!, !!", () => {
  it("look at their first argument, even if it comes in a list from the context", () => {
    expect(run({ "!": [0, 1] })).to.equal(true);
    expect(run({ "!": "" })).to.equal(true);
    expect(run({ "!!": ["0"] })).to.equal(true);
    expect(run({ "!!": { var: "list" } }, { list: [0, 1] })).to.equal(false);
  });

  it("take an empty list for false", () => {
    expect(run({ "!": [] })).to.equal(true);
    expect(run({ "!!": [[]] })).to.equal(false);
  });
});

function run(rule: Value, context: EvaluationContext = {}): Value {
  return compile(rule)(context, new Scope(Date).begin(context, "the-flag"));
}
