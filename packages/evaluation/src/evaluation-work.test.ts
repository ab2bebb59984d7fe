import type { JsonObject, JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { createEvaluator } from "./create-evaluator.js";
import type { Resolution } from "./resolution.js";

const list = (length: number, itemAt: (index: number) => JsonValue = (index) => index): JsonValue[] =>
  Array.from({ length }, (_, index) => itemAt(index));
const ofMany = (length: number, rule: JsonValue): JsonValue => ({ and: list(length, () => rule) });
const long = "x".repeat(200_000);
const spaces = " ".repeat(200_000);
const members = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, 1]));

/** Rules of less than 1 MB that take from seconds to hours if nothing bounds them. */
const tooMuch: Readonly<Record<string, JsonValue>> = {
  "lists within lists within lists": {
    map: [list(1_000), { map: [list(1_000), { map: [list(1_000), { "+": [1, 2] }] }] }],
  },
  "a long rule for many items": { map: [list(2_000), ofMany(20_000, { "==": [1, 1] })] },
  "many conditions for many items": {
    map: [list(5_000), { if: [...list(20_000, (index) => (index % 2 === 0 ? 0 : 1)), 1] }],
  },
  "a list with a rule in it for many items": {
    map: [list(20_000), { if: [true, [...list(20_000), { var: "" }]] }],
  },
  "many names for many items": { filter: [list(20_000), { missing: list(20_000, () => "a") }] },
  "many shares for many items": {
    map: [list(20_000), { fractional: ["key", ...list(20_000, () => ["a", 1])] }],
  },
  "long texts that are compared": { map: [list(50_000), { "==": [`${long}a`, `${long}b`] }] },
  "long texts that begin alike": { map: [list(50_000), { starts_with: [`${long}ab`, `${long}a`] }] },
  "long texts that are read as numbers": { map: [list(50_000), { "==": [spaces, 1] }] },
  "long texts that a rule gives": { map: [list(50_000), { "==": [{ if: [true, spaces] }, 1] }] },
  "long versions": { map: [list(50_000), { sem_ver: [`1.0.${"1".repeat(200_000)}`, "=", "1.0.0"] }] },
  "large objects that are looked at": { map: [list(20_000), { "!": [members] }] },
  "a large result that is written": { map: [list(20_000), list(20_000)] },
};

function resolve(targeting: JsonValue, context: JsonObject = {}, variant = "on"): Resolution {
  const flags = {
    f: { state: "ENABLED", variants: { [variant]: true }, defaultVariant: variant, targeting },
  };
  return createEvaluator({ flags }).evaluator.resolve("f", context);
}

describe("the work of one evaluation", () => {
  for (const [what, rule] of Object.entries(tooMuch)) {
    it(`is bounded: ${what}`, () => {
      expect(resolve(rule).errorCode).to.equal("PARSE_ERROR");
    });
  }

  it("is bounded also where a list may name a variant, so that the result is written as text", () => {
    expect(resolve({ map: [list(20_000), list(20_000)] }, {}, "[1]").errorCode).to.equal("PARSE_ERROR");
  });

  it("suffices for ten thousand items and a rule of a few conditions", () => {
    const isMine = {
      or: [
        { in: [{ var: "group" }, list(5_000, (index) => `group-${String(index)}`)] },
        { "==": [{ var: "owner" }, "me"] },
      ],
    };
    const rule = { if: [{ some: [{ var: "items" }, isMine] }, "on", "off"] };
    const items = list(10_000, (index) => ({ group: "other", owner: index === 9_999 ? "me" : "you" }));
    expect(resolve(rule, { items })).to.include({ reason: "TARGETING_MATCH", variant: "on" });
  });
});
