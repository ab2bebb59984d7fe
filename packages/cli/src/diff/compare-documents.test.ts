import type { FlagDocument, JsonObject, JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { coloursFor } from "../terminal/colours.js";
import { compareDocuments } from "./compare-documents.js";
import { jsonChanges } from "./json-changes.js";
import { differenceLines } from "./print-differences.js";

const flag = { state: "ENABLED", variants: { a: 1, b: 2 }, defaultVariant: "a" };

function lines(before: JsonObject, after: JsonObject, rest: Partial<FlagDocument> = {}): readonly string[] {
  const differences = compareDocuments({ flags: before, ...rest }, { flags: after, ...rest });
  return differenceLines(differences, coloursFor(false, {}));
}

describe("compareDocuments", () => {
  it("shows flags that were added, removed or changed, by key", () => {
    const before = { same: flag, gone: flag, edited: flag };
    const after = {
      same: flag,
      added: { ...flag, targeting: { var: "x" } },
      edited: { ...flag, state: "DISABLED", defaultVariant: "b", variants: { a: 1, b: 3, c: 4 } },
    };
    expect(lines(before, after)).to.deep.equal([
      '+ added: ENABLED, 2 variants, default "a", with a rule',
      "~ edited",
      '    state: "ENABLED" → "DISABLED"',
      '    defaultVariant: "a" → "b"',
      "    variants.b: 2 → 3",
      "    variants.c: added 4",
      "- gone",
    ]);
  });

  it("sees what a flag means, not how it is written", () => {
    const evaluators = { rule: { "==": [{ var: "x" }, 1] } };
    const written = { ...flag, targeting: { if: [{ $ref: "rule" }, "b"] } };
    const inlined = { ...flag, state: "enabled", targeting: { if: [evaluators.rule, "b"] }, metadata: {} };
    expect(lines({ f: written }, { f: inlined }, { $evaluators: evaluators })).to.deep.equal([]);
    expect(lines({ f: flag }, { f: { ...flag, targeting: {} } })).to.deep.equal([]);
  });

  it("shows the edit of an evaluator in every flag that refers to it, and that of the set's metadata", () => {
    const flags = { f: { ...flag, targeting: { if: [{ $ref: "rule" }, "b"] } } };
    const differences = compareDocuments(
      { flags, $evaluators: { rule: { "==": [{ var: "x" }, 1] } }, metadata: { owner: "ada" } },
      { flags, $evaluators: { rule: { "==": [{ var: "x" }, 2] } } },
    );
    expect(differenceLines(differences, coloursFor(false, {}))).to.deep.equal([
      "~ f",
      '    targeting.if[0]["=="][1]: 1 → 2',
      '    metadata: removed {"owner":"ada"}',
    ]);
  });

  it("says of a flag that agents begin to refuse it", () => {
    expect(lines({ f: flag }, { f: { ...flag, defaultVariant: "c" } }).join("\n")).to.contain(
      "    refusedByAgents: added ",
    );
    expect(lines({}, { f: { ...flag, defaultVariant: "c" } })[0]).to.match(/^\+ f: agents refuse it: /);
  });
});

describe("jsonChanges", () => {
  const paths = (before: JsonValue, after: JsonValue): readonly string[] =>
    jsonChanges(before, after).map(({ path }) => path);

  it("finds the smallest parts that differ", () => {
    expect(paths({ a: [1, { b: 2 }], "x y": 1 }, { a: [1, { b: 3, c: 4 }, 5], "x y": 2 })).to.deep.equal([
      "a[1].b",
      "a[1].c",
      "a[2]",
      '["x y"]',
    ]);
    expect(paths({ toString: 1 }, {})).to.deep.equal(["toString"]);
    expect(paths([1, 2], [2, 1])).to.deep.equal(["[0]", "[1]"]);
    expect(paths({ b: 1, a: 2 }, { a: 2, b: 1 })).to.deep.equal([]);
  });

  it("takes another operator as one change", () => {
    expect(jsonChanges({ "<": [1, 2] }, { ">": [1, 2] })).to.deep.equal([
      { path: "", before: { "<": [1, 2] }, after: { ">": [1, 2] } },
    ]);
  });
});
