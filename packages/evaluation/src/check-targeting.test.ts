import type { JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { checkTargeting } from "./check-targeting.js";
import { parseFlag } from "./parse-flag.js";

function problemsOf(targeting: JsonValue): readonly string[] {
  const set = { metadata: {}, evaluators: { known: { "==": [1, 1] } }, source: "", sourceIndex: 0 };
  return checkTargeting(parseFlag("a", { targeting }, set));
}

describe("checkTargeting", () => {
  it("finds no problem in rules of known operators, nor without a rule", () => {
    for (const targeting of [
      {},
      null,
      "on",
      { fractional: [{ cat: [{ var: "$flagd.flagKey" }, { var: "email" }] }, ["on", 50], ["off", 50]] },
      { if: [{ some: [{ var: "tags" }, { in: [{ var: "" }, ["a"]] }] }, "on", { $ref: "known" }] },
      { if: [true, { two: 1, keys: { unknown: 1 } }] },
    ]) {
      expect(problemsOf(targeting)).to.deep.equal([]);
    }
  });

  it("names each unknown operator once, wherever it stands", () => {
    const targeting = { if: [{ "=<": [1, 2] }, { none: [[1], { "==": [{ lower: "X" }, { "=<": [] }] }] }] };
    expect(problemsOf(targeting)).to.deep.equal([
      'there is no operator "=<"',
      'there is no operator "lower"',
    ]);
  });

  it("names a reference that leads to no evaluator", () => {
    expect(problemsOf({ if: [{ $ref: "unknown" }, "on"] })).to.deep.equal(['a "$ref" leads to no evaluator']);
  });

  it("says that a rule is nested too deep", () => {
    let targeting: JsonValue = "on";
    for (let depth = 0; depth < 2_000; depth++) targeting = { "!": [targeting] };
    expect(problemsOf(targeting)).to.deep.equal(["the rule is nested more than 1000 levels deep"]);
  });
});
