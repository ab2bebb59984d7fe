import { expect } from "chai";
import { compile } from "../compile.js";
import type { EvaluationContext } from "../resolution.js";
import { RuleFailure } from "../rule-failure.js";
import { Scope } from "../scope.js";
import type { Value } from "../value.js";

const manyTexts = Array.from({ length: 20 }, (_, i) => `t${i}`);

describe("in", () => {
  it("finds a text in a text, and fails for anything else in a text", () => {
    expect(run({ in: ["b", "abc"] })).to.equal(true);
    expect(run({ in: [{ var: "x" }, "abc"] }, { x: "d" })).to.equal(false);
    expect(() => run({ in: [{ var: "missing" }, "abc"] })).to.throw(RuleFailure);
    expect(() => run({ in: [1, "1"] })).to.throw(RuleFailure);
  });

  it("finds a number among numbers and texts that are numbers", () => {
    expect(run({ in: [5, [1, "5.0"]] })).to.equal(true);
    expect(run({ in: ["5", [5]] })).to.equal(false);
    expect(() => run({ in: [5, [null]] })).to.throw(RuleFailure);
  });

  it("finds any other value without conversion", () => {
    expect(run({ in: [null, [1, null]] })).to.equal(true);
    expect(run({ in: [true, [1, "true", true]] })).to.equal(true);
    expect(() => run({ in: [{ var: "o" }, [{ a: 1, b: 1 }]] }, { o: { a: 1, b: 1 } })).to.throw(RuleFailure);
  });

  it("takes a list within the list as a range", () => {
    expect(run({ in: [3, [[1, 5]]] })).to.equal(true);
    expect(
      run({
        in: [
          6,
          [
            [1, 5],
            [6, 6],
          ],
        ],
      }),
    ).to.equal(true);
    expect(run({ in: [0, [[1, 5]]] })).to.equal(false);
    expect(() => run({ in: [3, [[1]]] })).to.throw(RuleFailure);
  });

  it("finds in lists of texts of any length, whatever is looked for", () => {
    for (const texts of [["t1", "t19"], manyTexts]) {
      expect(run({ in: [{ var: "x" }, texts] }, { x: "t19" })).to.equal(true);
      expect(run({ in: [{ var: "x" }, texts] }, { x: "t20" })).to.equal(false);
      expect(run({ in: [{ var: "x" }, texts] }, { x: 0 })).to.equal(true);
      expect(run({ in: [{ var: "x" }, texts] }, { x: 1 })).to.equal(false);
      expect(run({ in: [{ var: "missing" }, texts] })).to.equal(false);
    }
  });

  it("finds nothing in a value that is neither text nor list", () => {
    expect(run({ in: ["a", { var: "missing" }] })).to.equal(false);
    expect(run({ in: ["a"] })).to.equal(false);
    expect(() => run({ in: "a" })).to.throw(RuleFailure);
    expect(() => run({ in: [] })).to.throw(RuleFailure);
  });
});

describe("contains_all, contains_any, contains_none", () => {
  it("compare two lists", () => {
    const lists = { a: [1, "x", null, true], b: [null, 1], c: [2, "x"], d: [5] };
    expect(run({ contains_all: [{ var: "a" }, { var: "b" }] }, lists)).to.equal(true);
    expect(run({ contains_all: [{ var: "a" }, { var: "c" }] }, lists)).to.equal(false);
    expect(run({ contains_any: [{ var: "a" }, { var: "c" }] }, lists)).to.equal(true);
    expect(run({ contains_none: [{ var: "a" }, { var: "d" }] }, lists)).to.equal(true);
    expect(run({ contains_all: [{ var: "a" }, []] }, lists)).to.equal(true);
  });

  it("find nothing in a value that is not a list", () => {
    expect(run({ contains_all: ["a", ["a"]] })).to.equal(false);
    expect(run({ contains_any: [["a"]] })).to.equal(false);
    expect(run({ contains_none: [["a"], "a"] })).to.equal(true);
  });

  it("fail to compare objects", () => {
    expect(() => run({ contains_any: [[{ a: 1, b: 1 }], [{ a: 1, b: 1 }]] })).to.throw(RuleFailure);
  });
});

describe("merge", () => {
  it("gives the items of all lists, and other values as items", () => {
    expect(run({ merge: [[1, [2]], 3, { var: "list" }, null] }, { list: [4, 5] })).to.deep.equal([
      1,
      [2],
      3,
      4,
      5,
      null,
    ]);
    expect(run({ merge: "a" })).to.deep.equal(["a"]);
    expect(() => run({ merge: null })).to.throw(RuleFailure);
  });
});

describe("set", () => {
  it("gives a copy of an object with one property set", () => {
    const o = { a: 1, b: 2 };
    expect(run({ set: [{ var: "o" }, "a", 5] }, { o })).to.deep.equal({ a: 5, b: 2 });
    expect(o).to.deep.equal({ a: 1, b: 2 });
  });

  it("sets a property that every object inherits, and nothing else", () => {
    const changed = run({ set: [{ var: "o" }, "__proto__", { var: "o" }] }, { o: { a: 1, b: 2 } }) as object;
    expect(Object.keys(changed)).to.deep.equal(["a", "b", "__proto__"]);
    expect(Object.getPrototypeOf(changed)).to.equal(Object.prototype);
  });

  it("gives back a value that is not an object", () => {
    expect(run({ set: ["x", "a", 1] })).to.equal("x");
    expect(run({ set: [] })).to.equal(null);
  });
});

function run(rule: Value, context: EvaluationContext = {}): Value {
  return compile(rule)(context, new Scope(Date).begin(context, "the-flag"));
}
