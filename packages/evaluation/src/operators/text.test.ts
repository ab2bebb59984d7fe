import { expect } from "chai";
import { compile } from "../compile.js";
import type { EvaluationContext } from "../resolution.js";
import { RuleFailure } from "../rule-failure.js";
import { Scope } from "../scope.js";
import type { Value } from "../value.js";

describe("cat", () => {
  it("joins texts and numbers, and takes null as the empty text", () => {
    expect(run({ cat: ["a", 1.5, null, 1e21] })).to.equal("a1.51000000000000000000000");
    expect(run({ cat: [] })).to.equal("");
  });

  it("trims white space off the result if there are several texts, however they come", () => {
    expect(run({ cat: [" a ", " b "] })).to.equal("a  b");
    expect(run({ cat: ["seed ", { var: "missing" }] })).to.equal("seed");
    expect(run({ cat: [" ", " a ", " "] })).to.equal("a");
    expect(run({ cat: [" a "] })).to.equal(" a ");
    expect(run({ cat: " a " })).to.equal(" a ");
  });

  it("fails for booleans, lists and a lone number", () => {
    for (const args of [["a", true], ["a", ["b"]], 5, null])
      expect(() => run({ cat: args })).to.throw(RuleFailure);
  });
});

describe("substr", () => {
  it("takes a part, counted from the beginning or the end", () => {
    expect(run({ substr: ["jsonlogic", 4] })).to.equal("logic");
    expect(run({ substr: ["jsonlogic", -5] })).to.equal("logic");
    expect(run({ substr: ["jsonlogic", 1, 3] })).to.equal("son");
    expect(run({ substr: ["jsonlogic", 4, -2] })).to.equal("log");
    expect(run({ substr: ["jsonlogic", 4, 100] })).to.equal("logic");
  });

  it("counts characters, not the units they are made of", () => {
    expect(run({ substr: ["a😀é", 1, 1] })).to.equal("😀");
    expect(run({ substr: ["a😀é", -1] })).to.equal("é");
  });

  it("gives the whole text if the part would begin outside of it", () => {
    expect(run({ substr: ["abc", 4] })).to.equal("abc");
    expect(run({ substr: ["abc", -4] })).to.equal("abc");
    expect(run({ substr: ["abc", "nan"] })).to.equal("abc");
    expect(run({ substr: ["abc", 3] })).to.equal("");
  });

  it("fails if the part would end before it begins", () => {
    expect(() => run({ substr: ["abc", 2, -2] })).to.throw(RuleFailure);
    expect(() => run({ substr: ["abc"] })).to.throw(RuleFailure);
  });
});

describe("starts_with, ends_with", () => {
  it("compare the ends of texts", () => {
    expect(run({ starts_with: [{ var: "email" }, "user@"] }, { email: "user@faas.com" })).to.equal(true);
    expect(run({ ends_with: [{ var: "email" }, "@faas.com"] }, { email: "user@faas.com" })).to.equal(true);
    expect(run({ ends_with: ["ab", "a"] })).to.equal(false);
    expect(run({ starts_with: { var: "pair" } }, { pair: ["ab", "a"] })).to.equal(true);
  });

  it("give null for anything but two texts", () => {
    for (const args of [["a"], ["a", 1], [null, "a"], ["a", "a", "a"], "a", null]) {
      expect(run({ starts_with: args })).to.equal(null);
      expect(run({ ends_with: args })).to.equal(null);
    }
  });
});

function run(rule: Value, context: EvaluationContext = {}): Value {
  return compile(rule)(context, new Scope(Date).begin(context, "the-flag"));
}
