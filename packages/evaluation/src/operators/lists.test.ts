import { expect } from "chai";
import { compile } from "../compile.js";
import type { EvaluationContext } from "../resolution.js";
import { RuleFailure } from "../rule-failure.js";
import { Scope } from "../scope.js";
import type { Value } from "../value.js";

describe("filter", () => {
  it("keeps the items for which the rule is true", () => {
    expect(run({ filter: [{ var: "list" }, { ">": [{ var: "" }, 1] }] }, { list: [1, 2, 3] })).to.deep.equal([
      2, 3,
    ]);
    expect(
      run({
        filter: [
          [
            { n: 1, m: 1 },
            { n: 2, m: 1 },
          ],
          { "==": [{ var: "n" }, 2] },
        ],
      }),
    ).to.deep.equal([{ n: 2, m: 1 }]);
  });

  it("lets the data around the list win over the item", () => {
    const items = [{ n: 1 }, { n: 2 }];
    expect(run({ filter: [{ var: "items" }, { "==": [{ var: "n" }, 1] }] }, { items, n: 1 })).to.deep.equal(
      items,
    );
    expect(run({ filter: [{ var: "items" }, { "==": [{ var: ".n" }, 1] }] }, { items, n: 1 })).to.deep.equal([
      { n: 1 },
    ]);
    expect(run({ filter: [[1, 2, 3], { in: [{ var: "" }, { var: "ok" }] }] }, { ok: [1, 3] })).to.deep.equal([
      1, 3,
    ]);
  });

  it("makes an object from around the list part of the rule", () => {
    expect(
      run({ filter: [[1, 2], { "==": [{ var: "o" }, { var: "" }] }] }, { o: { "+": [1, 1] } }),
    ).to.deep.equal([2]);
    expect(() => run({ filter: [[1], { "!!": { var: "o" } }] }, { o: { p: 1 } })).to.throw(
      RuleFailure,
      'no operator "p"',
    );
    expect(run({ filter: [[1], { and: { var: "list" } }] }, { list: [1, 0] })).to.deep.equal([]);
  });

  it("gives an empty list for null, and fails for anything that is not a list", () => {
    expect(run({ filter: [{ var: "missing" }, true] })).to.deep.equal([]);
    expect(run({ filter: ["abc", true] })).to.deep.equal([]);
    expect(run({ filter: [[1]] })).to.deep.equal([]);
    expect(() => run({ filter: [{ var: "text" }, true] }, { text: "abc" })).to.throw(RuleFailure);
    expect(() => run({ filter: { var: "args" } }, { args: [[1], true] })).to.throw(RuleFailure);
  });
});

describe("map", () => {
  it("gives the result of the rule for each item, and shows the rule nothing else", () => {
    expect(run({ map: [[1, 2], { "+": [{ var: "" }, 1] }] })).to.deep.equal([2, 3]);
    expect(run({ map: [[{ a: 1, b: 1 }, 5, null], { var: "a" }] }, { a: 9 })).to.deep.equal([1, null, null]);
    expect(run({ map: [[1, 2], "x"] })).to.deep.equal(["x", "x"]);
  });

  it("does not evaluate a list in the rule", () => {
    expect(run({ map: [[{ "+": [1, 2] }], { var: "+.0" }] })).to.deep.equal([1]);
  });
});

describe("reduce", () => {
  it("reduces all items to one value, skipping null", () => {
    const sum = { "+": [{ var: "current" }, { var: "accumulator" }] };
    expect(run({ reduce: [[1, null, 2, 3], sum, 10] })).to.equal(16);
    expect(
      run({ reduce: [["a", "b"], { cat: [{ var: "accumulator" }, { var: "current" }] }, "x"] }),
    ).to.equal("xab");
    expect(run({ reduce: [[1, 0], { and: [{ var: "accumulator" }, { var: "current" }] }, true] })).to.equal(
      false,
    );
  });

  it("keeps the type it began with", () => {
    expect(run({ reduce: [["5"], { var: "current" }, 0] })).to.equal(5);
    expect(run({ reduce: [[5], { var: "current" }, ""] })).to.equal("5");
    expect(run({ reduce: [[5], { var: "valueType" }, ""] })).to.equal("string");
    expect(() => run({ reduce: [[true], { var: "current" }, 0] })).to.throw(RuleFailure);
    for (const initial of [null, [], { var: "missing" }])
      expect(() => run({ reduce: [[], {}, initial] })).to.throw(RuleFailure);
  });

  it("gives zero for null", () => {
    expect(run({ reduce: [{ var: "missing" }, { var: "current" }, "x"] })).to.equal(0);
    expect(run({ reduce: [[], { var: "current" }] })).to.equal(0);
  });
});

describe("all, none, some", () => {
  const even = { "==": [{ "%": [{ var: "" }, 2] }, 0] };

  it("say for how many items the rule is true", () => {
    expect([run({ all: [[2, 4], even] }), run({ all: [[2, 3], even] })]).to.deep.equal([true, false]);
    expect([run({ none: [[1, 3], even] }), run({ none: [[1, 2], even] })]).to.deep.equal([true, false]);
    expect([run({ some: [[1, 2], even] }), run({ some: [[1, 3], even] })]).to.deep.equal([true, false]);
  });

  it("are false, true and false for null and for an empty list", () => {
    for (const subject of [[], { var: "missing" }, "abc", null]) {
      expect([
        run({ all: [subject, even] }),
        run({ none: [subject, even] }),
        run({ some: [subject, even] }),
      ]).to.deep.equal([false, true, false]);
    }
  });

  it("fail for a true value that is not a list, and for a rule that is not an object", () => {
    for (const operator of ["all", "none", "some"]) {
      expect(() => run({ [operator]: [{ var: "text" }, even] }, { text: "abc" })).to.throw(RuleFailure);
      expect(() => run({ [operator]: [[1], true] })).to.throw(RuleFailure);
      expect(() => run({ [operator]: [[1], [{ var: "a" }]] })).to.throw(RuleFailure);
      expect(() => run({ [operator]: [[1]] })).to.throw(RuleFailure);
      expect(() => run({ [operator]: [] })).to.throw(RuleFailure);
    }
  });

  it("see the data around the list: some looks there first, none only there, all never", () => {
    const context = { list: [{ a: 2 }], a: 1 };
    const isTwo = { "==": [{ var: "a" }, 2] };
    expect(run({ some: [{ var: "list" }, isTwo] }, context)).to.equal(false);
    expect(run({ none: [{ var: "list" }, isTwo] }, context)).to.equal(true);
    expect(run({ all: [{ var: "list" }, isTwo] }, context)).to.equal(true);
    expect(run({ some: [{ var: "list" }, isTwo] }, { list: [{ a: 2 }] })).to.equal(true);
  });

  it("fail, for some, of an object around the list that holds variables of its own, though it is not reached", () => {
    const rule = { some: [["x"], { or: ["yes", { var: "o" }] }] };
    expect(run(rule, { o: { a: 1, b: 2 } })).to.equal(true);
    expect(() => run(rule, { o: { a: { var: true }, b: 2 } })).to.throw(RuleFailure);
  });

  it("fail where the rule is a variable that holds anything but an object", () => {
    expect(() => run({ all: [[{ ok: true, b: 1 }], { var: "ok" }] })).to.throw(RuleFailure);
    expect(run({ all: [[{ b: 1, c: 1 }], { var: "ok" }] })).to.equal(false);
  });
});

function run(rule: Value, context: EvaluationContext = {}): Value {
  return compile(rule)(context, new Scope(Date).begin(context, "the-flag"));
}
