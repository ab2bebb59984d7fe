import { expect } from "chai";
import { compile } from "./compile.js";
import { RuleFailure } from "./rule-failure.js";
import type { EvaluationContext } from "./resolution.js";
import { Scope } from "./scope.js";
import type { Value } from "./value.js";

describe("compile", () => {
  it("takes values other than objects as data, and the items of a list as rules", () => {
    for (const value of [null, true, 5, "x", [], {}]) expect(run(value)).to.deep.equal(value);
    expect(run([1, [{ "+": [1, 1] }]])).to.deep.equal([1, [2]]);
  });

  it("takes an object with several keys as data, and evaluates nothing in it", () => {
    const data = { a: { "+": [1, 1] }, b: { nope: 1 } };
    expect(run(data)).to.equal(data);
  });

  it("lets an unknown operator fail only when it is reached, naming it", () => {
    const evaluate = compile({ if: [{ var: "x" }, { nope: [] }, "fine"] });
    const evaluateWith = (context: EvaluationContext): Value =>
      evaluate(context, scope().begin(context, "f"));
    expect(evaluateWith({})).to.equal("fine");
    expect(() => evaluateWith({ x: true })).to.throw(RuleFailure, 'there is no operator "nope"');
    for (const name of ["constructor", "__proto__", "$ref"]) {
      const rule = JSON.parse(`{"${name}":[]}`) as Value;
      expect(() => run(rule)).to.throw(RuleFailure, `no operator "${name}"`);
    }
  });

  it("refuses a rule nested too deep, and runs one nearly so", () => {
    expect(() => compile(nested(200_000))).to.throw(RuleFailure, "levels deep");
    expect(run(nested(499))).to.equal(false);
  });

  it("takes time that grows with the size of the rule, not with its nesting", () => {
    const wraps: ((rule: Value) => Value)[] = [
      (rule) => ({ fractional: [{ cat: [rule, "x"] }, ["a", { "+": [1] }]] }),
      (rule) => ({ fractional: ["x", [rule, 1], ["b", 1]] }),
      (rule) => ({ in: [rule, { merge: ["x"] }] }),
      (rule) => ({ some: [[1], { "!!": [rule] }] }),
      (rule) => ({ filter: [[{ a: 1, b: 1 }], { "!!": [rule] }] }),
      (rule) => ({ if: [{ var: "x" }, 1, rule] }),
      (rule) => ({ var: ["missing", rule] }),
      (rule) => ({ missing: [rule] }),
    ];
    for (const wrap of wraps) {
      let rule: Value = { var: "y" };
      for (let i = 0; i < 80; i++) rule = wrap(rule);
      expect(() => compile(rule)).not.to.throw();
    }
  });
});

describe("Scope", () => {
  const list = Array.from({ length: 3000 }, (_, i) => i);
  const failsFor = (rule: Value, context: EvaluationContext, reason = "takes too long"): void => {
    expect(() => run(rule, context)).to.throw(RuleFailure, reason);
  };

  it("lets an evaluation do a lot of work", () => {
    expect(run({ some: [{ var: "list" }, { in: [{ var: "" }, [1e9]] }] }, { list })).to.equal(false);
  });

  it("ends an evaluation that goes through lists in lists in lists", () => {
    failsFor(
      { filter: [{ var: "list" }, { in: [{ var: "" }, { var: "other" }] }] },
      { list, other: list.map((i) => -1 - i) },
    );
    const times = (rule: Value): Value => ({ all: [list.slice(0, 200), rule] });
    failsFor(times(times(times({ "!": [0] }))), {});
  });

  it("ends an evaluation that makes lists of more memory than it may, each evaluation anew", () => {
    const copies = { map: [{ var: "list" }, { merge: [list] }] };
    failsFor(copies, { list }, "takes too much memory");
    const evaluate = compile(copies);
    const shared = scope();
    const few = { list: list.slice(0, 100) };
    for (let i = 0; i < 40; i++) expect(evaluate(few, shared.begin(few, "f"))).to.have.length(100);
  });

  it("ends an evaluation that makes text grow and grow", () => {
    const twice = { cat: [{ var: "accumulator" }, { var: "accumulator" }] };
    failsFor({ reduce: [{ var: "list" }, twice, "x"] }, { list });
  });

  it("starts again with each evaluation", () => {
    const evaluate = compile({ some: [{ var: "list" }, { in: [{ var: "" }, { var: "few" }] }] });
    const shared = scope();
    const context = { list, few: Array.from({ length: 300 }, () => -1) };
    for (let i = 0; i < 5; i++) expect(evaluate(context, shared.begin(context, "f"))).to.equal(false);
  });
});

function nested(depth: number): Value {
  let rule: Value = true;
  for (let i = 0; i < depth; i++) rule = { "!": [rule] };
  return rule;
}

function scope(): Scope {
  return new Scope(Date);
}

function run(rule: Value, context: EvaluationContext = {}): Value {
  return compile(rule)(context, scope().begin(context, "f"));
}
