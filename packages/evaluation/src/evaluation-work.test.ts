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

const megabyte = 980_000;
const numbers = `1${"_1".repeat(megabyte / 2)}`;
const version = `1.0.0-${"a.".repeat(megabyte / 2)}a`;
const groups = list(900, (index) => `a${index}`);
const hay = "a".repeat(megabyte / 2);
const needle = `${"a".repeat(megabyte / 8)}b${"a".repeat(megabyte / 8)}`;
const longTexts = list(8, (index) => `${"x".repeat(20_000)}${index}`);
const sameText = list(400, () => "y".repeat(20_001));
const keyed = list(200, () => ({ targetingKey: "a", $flagd: { flagKey: hay } }));
const wide = Object.fromEntries(Array.from({ length: 80_000 }, (_, index) => [`key-${index}`, 1]));

/** What one rule of a hundred flags does with a large context, and how many of the flags may be answered. */
const tooMuchTogether: readonly (readonly [string, JsonValue, JsonObject, number])[] = [
  ["compare a text with a number", { "==": [{ var: "v" }, 1] }, { v: numbers }, 5],
  ["order a number and a text", { "<": [1, { var: "v" }] }, { v: numbers }, 5],
  ["calculate with a text", { "+": [{ var: "v" }, 1] }, { v: numbers }, 5],
  ["look for a number among texts", { in: [1, { var: "v" }] }, { v: [numbers] }, 5],
  ["parse a version", { sem_ver: [{ var: "v" }, "=", "1.0.0"] }, { v: version }, 5],
  ["parse the other version", { sem_ver: ["1.0.0", "=", { var: "v" }] }, { v: version }, 5],
  ["join texts", { cat: [{ var: "v" }, "a"] }, { v: long }, 90],
  ["hash a text", { fractional: [{ var: "v" }, ["on", 1]] }, { v: version }, 5],
  ["hash joined texts", { fractional: [{ cat: [{ var: "v" }, "a"] }, ["on", 1]] }, { v: version }, 5],
  ["compare texts", { "==": [{ var: "v" }, { var: "w" }] }, { v: version, w: version }, 20],
  ["order texts", { "<": [{ var: "v" }, { var: "w" }] }, { v: version, w: version }, 20],
  ["compare the beginnings", { starts_with: [{ var: "v" }, { var: "w" }] }, { v: version, w: version }, 20],
  ["compare the ends", { ends_with: [{ var: "v" }, { var: "w" }] }, { v: version, w: version }, 20],
  ["cut a text", { substr: [{ var: "v" }, 1, 2] }, { v: version }, 20],
  ["cut a text of pairs", { substr: [{ var: "v" }, 1, 2] }, { v: "😀".repeat(megabyte / 4) }, 5],
  ["search a text", { in: ["zzzzzz", { var: "v" }] }, { v: version }, 50],
  ["search a text for a long one", { in: [{ var: "w" }, { var: "v" }] }, { v: hay, w: needle }, 6],
  [
    "search texts of one length",
    { none: [{ var: "v" }, { in: [{ var: "" }, longTexts] }] },
    { v: sameText },
    1,
  ],
  ["look for paths that are numbers", { missing: { var: "v" } }, { v: list(100_000) }, 5],
  ["hash the keys of items", { map: [{ var: "v" }, { fractional: [["on", 1]] }] }, { v: keyed }, 1],
  [
    "search lists in lists",
    { some: [{ var: "v" }, { in: [{ var: "" }, { var: "w" }] }] },
    { v: groups, w: list(900) },
    5,
  ],
  ["read the whole context", { "!!": [{ var: "" }] }, wide, 5],
  ["run data as a rule", { if: [true, { var: "v" }] }, { v: { var: version } }, 5],
  ["copy an object", { "!!": [{ set: [{ var: "v" }, "a", 1] }] }, { v: wide }, 2],
];

/** Rules that list the members of an object of the context. */
const listing: Readonly<Record<string, JsonValue>> = {
  "set a property of it": { "!!": [{ set: [{ var: "v" }, "a", 1] }] },
  "give it as their result": { var: "v" },
  "give it as a branch's result": { if: [true, { var: "v" }] },
  "look for what it names": { missing: [{ var: "v" }] },
  "filter by it": { "!!": [{ filter: [[1], { "==": [{ var: "v" }, 1] }] }] },
  "look for it in items": { some: [[{}], { "==": [{ var: "v" }, 1] }] },
  "compare it with each item": { all: [{ var: "items" }, { "==": [{ var: "v" }, 1] }] },
};

/** Data of a context that are run as a rule, and would take tens of megabytes at once if that counted as little as reading them. */
const asRules: Readonly<Record<string, JsonValue>> = {
  operators: { and: list(5_000, () => ({ "!": 1 })) },
  lists: { and: list(12_000, () => [1]) },
  "lists within operators": { and: list(4_000, () => ({ in: [1, [1]] })) },
  variables: { and: list(5_000, () => ({ var: "a.b.c" })) },
  paths: { missing: list(40_000, () => "a") },
  "steps of a path": { var: "a.".repeat(40_000) },
};

/** Rules for a list of 500 items that make so many lists of each, of which a million fill the heap of an agent. */
const makes = (rule: JsonValue): JsonValue => ({ map: [list(500), { map: [list(400), rule] }] });
const made: Readonly<Record<string, JsonValue>> = {
  "empty lists": makes({ merge: [] }),
  "lists in lists": makes([[{ var: "" }]]),
  "lists of missing names": makes({ missing: ["a"] }),
  "lists of what is kept of lists": makes({ filter: [[1], true] }),
  "lists of as many items": { map: [list(500), { map: [list(2_000), 1] }] },
};

/** A hundred flags or more, with each of the rules in turn. */
function resolveAll(count: number, rules: readonly JsonValue[], context: JsonObject): readonly Resolution[] {
  const flags = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `flag-${String(index).padStart(5, "0")}`,
      {
        state: "ENABLED",
        variants: { on: true, off: false, true: true, false: false },
        defaultVariant: "on",
        targeting: rules[index % rules.length] ?? null,
      },
    ]),
  );
  const { evaluator } = createEvaluator({ flags });
  return evaluator.resolveAll(context).map(({ resolution }) => resolution);
}

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

  for (const [what, v] of Object.entries(asRules)) {
    it(`is bounded, and with it its memory, where the context has a rule of many ${what}`, () => {
      expect(resolve({ if: [true, { var: "v" }] }, { v }).errorCode).to.equal("PARSE_ERROR");
    });
  }

  for (const [what, rule] of Object.entries(made)) {
    it(`is bounded, and with it its memory, where a rule makes many ${what}`, () => {
      expect(resolve(rule).errorCode).to.equal("PARSE_ERROR");
    });
  }

  it("is bounded, and with it its memory, where a rule makes texts of long ones, or of many large numbers", () => {
    const texts = { merge: list(40, (index) => ({ cat: [{ var: "v" }, index] })) };
    expect(resolve(texts, { v: long }).errorCode).to.equal("PARSE_ERROR");
    expect(resolve({ cat: { var: "v" } }, { v: list(50_000, () => 1e308) }).errorCode).to.equal(
      "PARSE_ERROR",
    );
  });

  it("is bounded, and with it its memory, where a long text may name a variant, and is written as JSON", () => {
    const v = "<".repeat(600_000);
    expect(resolve({ var: "v" }, { v }, "x".repeat(v.length)).errorCode).to.equal("PARSE_ERROR");
  });

  it("is not used up by a rule of some hundred parts in the context, or a list of some thousand texts", () => {
    const rule = { if: [{ and: list(300, () => ({ "==": [{ var: "a.b" }, null] })) }, "on", "off"] };
    expect(resolve({ if: [true, { var: "v" }] }, { v: rule })).to.include({ variant: "on" });
    // The texts become part of the rule for the items.
    const some = { some: [{ var: "items" }, { in: [{ var: "" }, { var: "texts" }] }] };
    const texts = list(2_000, (index) => `a text of some characters ${index}`);
    expect(resolve({ if: [some, "on", null] }, { items: [texts[7] ?? null], texts })).to.include({
      variant: "on",
    });
  });

  it("is bounded also where a list may name a variant, so that the result is written as text", () => {
    expect(resolve({ map: [list(20_000), list(20_000)] }, {}, "[1]").errorCode).to.equal("PARSE_ERROR");
  });

  it("suffices for ten thousand flags in one request, with rules that look at lists and texts of the context", () => {
    const rules: JsonValue[] = [
      { in: ["staff", { var: "groups" }] },
      { some: [{ var: "groups" }, { "==": [{ var: "" }, "staff"] }] },
      { sem_ver: [{ var: "version" }, ">=", "1.2.0"] },
      { and: [{ ends_with: [{ var: "email" }, "@example.com"] }, { ">": [{ var: "age" }, 18] }] },
      { fractional: [{ cat: [{ var: "$flagd.flagKey" }, { var: "email" }] }, ["on", 50], ["off", 50]] },
      { "!!": [{ var: "" }] },
    ];
    const context = {
      email: `${"a".repeat(50)}@example.com`,
      version: "1.20.3-beta.1",
      age: "42",
      groups: list(100, (index) => `group-${index}`),
    };
    const resolutions = resolveAll(10_000, rules, context);
    expect(resolutions.filter(({ errorCode }) => errorCode !== undefined)).to.deep.equal([]);
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

describe("the work of all evaluations of one request", () => {
  for (const [what, rule, context, most] of tooMuchTogether) {
    it(`is bounded where a hundred flags ${what}`, () => {
      const resolutions = resolveAll(100, [rule], context);
      const tooLong = resolutions.filter(({ errorCode }) => errorCode === "PARSE_ERROR").length;
      expect(100 - tooLong).to.be.at.most(most);
    });
  }

  for (const [what, rule] of Object.entries(listing)) {
    it(`bounds how often a large object is listed where a thousand flags ${what}`, () => {
      let listed = 0;
      const countLists: ProxyHandler<JsonObject> = {
        ownKeys: (object) => (listed++, Reflect.ownKeys(object)),
      };
      const v = new Proxy(wide, countLists);
      resolveAll(1_000, [rule], { v, items: [{ v }] });
      expect(listed).to.be.within(1, 10);
    });
  }

  it("leaves each flag work of its own, and the next request all of it", () => {
    const context = { v: version, groups: list(100), small: "1.0.0" };
    const rules = [
      { sem_ver: [{ var: "v" }, "=", "1.0.0"] },
      { and: [{ in: [99, { var: "groups" }] }, { sem_ver: [{ var: "small" }, "=", "1.0.0"] }] },
    ];
    const resolutions = resolveAll(100, rules, context);
    const [long, short] = [0, 1].map((kind) => resolutions.filter((_, index) => index % 2 === kind));
    expect(long?.slice(-40).map(({ errorCode }) => errorCode)).to.deep.equal(list(40, () => "PARSE_ERROR"));
    expect(short?.map(({ variant }) => variant)).to.deep.equal(list(50, () => "true"));
  });

  it("does not depend on the requests before", () => {
    const flag = {
      state: "ENABLED",
      variants: { false: true },
      targeting: { sem_ver: [{ var: "v" }, "=", "1"] },
    };
    const { evaluator } = createEvaluator({ flags: { flag } });
    const codes = list(20).map(() => evaluator.resolve("flag", { v: version }).errorCode);
    expect(new Set(codes)).to.deep.equal(new Set([undefined]));
  });

  it("is none for a long text that is longer than the name of any variant", () => {
    const resolutions = resolveAll(100, [{ var: "v" }], { v: "<".repeat(megabyte) });
    expect(new Set(resolutions.map(({ errorCode }) => errorCode))).to.deep.equal(new Set(["GENERAL"]));
  });
});
