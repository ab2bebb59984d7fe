import type { JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { deepJson } from "./admission-review.fixture.js";
import { hasHugeRule, maxRuleValues } from "./rule-size.js";

describe("hasHugeRule", () => {
  const of = (targeting: JsonValue, $evaluators: JsonValue = {}): boolean =>
    hasHugeRule({ spec: { flagSpec: { flags: { a: {}, b: { targeting } }, $evaluators } } });
  const list = (length: number): JsonValue => Array.from({ length }, () => "x");

  it("lets pass what people write, in any number of flags", () => {
    const rule = { if: [{ "==": [{ var: "email" }, "a"] }, "on", "off"] };
    const flags = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, { targeting: rule }]));
    expect(hasHugeRule({ spec: { flagSpec: { flags } } })).to.equal(false);
    expect(of(list(maxRuleValues - 1))).to.equal(false);
  });

  it("counts the values of each rule, and of all evaluators together, at any depth", () => {
    expect(of(list(maxRuleValues))).to.equal(true);
    expect(of({ if: [list(maxRuleValues / 2), list(maxRuleValues / 2)] })).to.equal(true);
    expect(of({}, { a: list(maxRuleValues / 2), b: list(maxRuleValues / 2) })).to.equal(true);
    expect(of(JSON.parse(deepJson(maxRuleValues + 1)) as JsonValue)).to.equal(true);
  });

  it("is not misled by objects of another form", () => {
    for (const object of [
      {},
      { spec: 1 },
      { spec: { flagSpec: [] } },
      { spec: { flagSpec: { flags: [1] } } },
    ])
      expect(hasHugeRule(object)).to.equal(false);
  });
});
