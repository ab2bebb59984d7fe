import { expect } from "chai";
import { compile } from "../compile.js";
import type { EvaluationContext } from "../resolution.js";
import { RuleFailure } from "../rule-failure.js";
import { Scope } from "../scope.js";
import type { Value } from "../value.js";

const context = {
  a: { b: { c: 1 }, n: null, "": 2 },
  list: ["x", { y: 2 }, [3]],
  zero: 0,
  no: false,
  text: "abc",
  "1": "one",
};

describe("var", () => {
  it("reads a path of names and places", () => {
    expect(run({ var: "a.b.c" }, context)).to.equal(1);
    expect(run({ var: ["list.1.y"] }, context)).to.equal(2);
    expect(run({ var: "list.2.0" }, context)).to.equal(3);
    expect(run({ var: 1 }, context)).to.equal("one");
    expect(run({ var: "..a...b.c." }, context)).to.equal(1);
  });

  it("reads a long path as a short one", () => {
    const long = (path: string): string => `${".".repeat(100)}${path}`;
    const paths = [
      "a.b.c",
      "list.2.0",
      "a.n.x",
      "list.-1",
      "zero.x",
      "a.constructor",
      "__proto__",
      "",
      "$flagd",
    ];
    for (const path of [...paths, "$flagd.flagKey", "a.$flagd", "..list...length."])
      expect(run({ var: long(path) }, context), path).to.deep.equal(run({ var: path }, context));
    const steps = "o.".repeat(60);
    const nested = steps.split(".").reduceRight<Value>((inner, name) => ({ [name]: inner }), 1);
    expect(run({ var: steps }, nested as EvaluationContext)).to.deep.equal({ "": 1 });
    expect(run({ missing: [steps, `${steps}x`] }, nested as EvaluationContext)).to.deep.equal([`${steps}x`]);
  });

  it("reads the first item of a list where a place is not a number", () => {
    expect(run({ var: "list.length" }, context)).to.equal("x");
  });

  it("gives the default only for a value that is absent or null", () => {
    for (const path of ["missing", "a.x.y", "a.n", "a.n.x", "text.0", "list.3", "list.-1", "zero.x"]) {
      expect(run({ var: path }, context), path).to.equal(null);
      expect(run({ var: [path, "default"] }, context), path).to.equal("default");
    }
    expect(run({ var: ["zero", "default"] }, context)).to.equal(0);
    expect(run({ var: ["no", "default"] }, context)).to.equal(false);
    expect(run({ var: ["missing", "default", "more"] }, context)).to.equal(null);
  });

  it("evaluates path and default", () => {
    expect(run({ var: { cat: ["a", ".b.c"] } }, context)).to.equal(1);
    expect(run({ var: ["missing", { var: "text" }] }, context)).to.equal("abc");
    expect(() => run({ var: ["text", { nope: [] }] }, context)).to.throw(RuleFailure);
  });

  it("gives all of the data for no path", () => {
    for (const path of ["", ".", [], [""]]) {
      expect(run({ var: path }, context))
        .to.deep.include(context)
        .and.to.have.nested.property("$flagd.flagKey", "the-flag");
    }
  });

  it("gives null for null, unless the data is neither a list nor an object", () => {
    expect(run({ var: null }, context)).to.equal(null);
    expect(run({ map: [["x"], { var: null }] })).to.deep.equal(["x"]);
  });

  it("fails for a path that is neither text nor number", () => {
    for (const path of [true, [1], [null], [true, 1], { a: 1, b: 2 }]) {
      expect(() => run({ var: path }, context)).to.throw(RuleFailure);
    }
  });

  it("reads own properties, not those that every object and list inherits", () => {
    for (const path of [
      "__proto__",
      "constructor",
      "toString",
      "a.constructor.name",
      "hasOwnProperty",
      "list.__proto__.x",
    ]) {
      expect(run({ var: path }, { ...context, list: [] }), path).to.equal(null);
      expect(run({ var: [{ cat: [path, ""] }] }, { ...context, list: [] }), path).to.equal(null);
    }
    const own = JSON.parse('{"__proto__":{"constructor":5}}') as EvaluationContext;
    expect(run({ var: "__proto__.constructor" }, own)).to.equal(5);
  });

  it("reads the $flagd properties, over whatever the context has in their place", () => {
    expect(run({ var: "$flagd.flagKey" }, { $flagd: { flagKey: "fake" } })).to.equal("the-flag");
    expect(run({ var: "$flagd.other" }, { $flagd: { other: 1 } })).to.equal(null);
    const scope = new Scope({ now: () => 1_700_000_000_999 });
    const empty = {};
    expect(compile({ var: "$flagd" })(empty, scope.begin(empty, "f"))).to.deep.equal({
      flagKey: "f",
      timestamp: 1_700_000_000,
    });
    expect(compile({ var: "$flagd.timestamp" })(empty, scope.begin(empty, "f"))).to.equal(1_700_000_000);
  });
});

describe("missing", () => {
  it("gives the names that have no value in the data", () => {
    expect(run({ missing: ["a", "b", "a.n", "zero"] }, context)).to.deep.equal(["b", "a.n"]);
    expect(run({ missing: "b" }, context)).to.deep.equal(["b"]);
    expect(run({ missing: { var: "names" } }, { ...context, names: ["a", "z"] })).to.deep.equal(["z"]);
    expect(run({ missing: [] }, context)).to.deep.equal([]);
  });

  it("fails for what can't be a name", () => {
    expect(() => run({ missing: 5 }, context)).to.throw(RuleFailure);
    expect(() => run({ missing: [true] }, context)).to.throw(RuleFailure);
  });
});

describe("missing_some", () => {
  it("gives an empty list if enough names have a value, else those that have none", () => {
    expect(run({ missing_some: [1, ["a", "b", "c"]] }, context)).to.deep.equal([]);
    expect(run({ missing_some: [2, ["a", "b", "c"]] }, context)).to.deep.equal(["b", "c"]);
    expect(run({ missing_some: ["2", { var: "names" }] }, { ...context, names: ["a", "b"] })).to.deep.equal([
      "b",
    ]);
    expect(() => run({ missing_some: [1] }, context)).to.throw(RuleFailure);
  });
});

function run(rule: Value, context: EvaluationContext = {}): Value {
  return compile(rule)(context, new Scope(Date).begin(context, "the-flag"));
}
