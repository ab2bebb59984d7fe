import type { JsonObject, JsonValue } from "@bunting/protocol";

type Variants = Readonly<Record<string, JsonValue>>;

function flag(
  variants: Variants,
  defaultVariant: string | null | undefined,
  rest: JsonObject = {},
): JsonObject {
  return { state: "ENABLED", variants, ...(defaultVariant === undefined ? {} : { defaultVariant }), ...rest };
}

/** A flag whose variants are their own values. */
function named(names: readonly string[], targeting: JsonValue, defaultVariant = names.at(-1)): JsonObject {
  return flag(Object.fromEntries(names.map((name) => [name, name])), defaultVariant, { targeting });
}

const ofAda = { "==": [{ var: "email" }, "ada@example.com"] };
const suits = ["clubs", "diamonds", "hearts", "spades"];
const nameAfter = (seed: JsonValue): JsonObject => ({ cat: [seed, { var: "user.name" }] });
const fourSuits = (seed: JsonValue): JsonObject => ({
  fractional: [nameAfter(seed), ...suits.map((suit) => [suit, 25])],
});
const version = (operator: string, other: string): JsonObject => ({
  sem_ver: [{ var: "version" }, operator, other],
});
const yesIf = (condition: JsonValue): JsonObject => named(["yes", "no"], { if: [condition, "yes", "no"] });
/** What an operator that fails returns is neither of the variants, so the default is served. */
const failing = (rule: JsonValue): JsonObject => named(["true", "false", "fallback"], rule);

/** A value of each type, and the one that counts as nothing. */
export const values = {
  boolean: { some: true, zero: false },
  string: { some: "hi", zero: "" },
  integer: { some: 10, zero: 0 },
  float: { some: 0.5, zero: 0 },
  object: { some: { title: "pictures", perPage: 100, shown: true }, zero: {} },
} as const satisfies Readonly<Record<string, Variants>>;

const perType = Object.entries(values).flatMap(([type, variants]): [string, JsonObject][] => [
  [`${type}-flag`, flag(variants, "some")],
  [`${type}-zero-flag`, flag(variants, "zero")],
  [`${type}-targeted-zero-flag`, flag(variants, "zero", { targeting: { if: [ofAda, "zero", null] } })],
  [`disabled-${type}-flag`, flag(variants, "some", { state: "DISABLED" })],
]);

/** The first source of the agent. */
export function firstDocument(changing: "foo" | "bar"): string {
  const flags: JsonObject = {
    ...Object.fromEntries(perType),
    "changing-flag": flag({ foo: "foo", bar: "bar" }, changing),
    "cross-flagset-flag": flag({ on: true, off: false }, "on", { state: "DISABLED" }),
    "metadata-flag": flag({ on: true, off: false }, "on", {
      metadata: { string: "a", integer: 1, float: 1.2, boolean: true },
    }),
    "flagd-context-aware": named(["internal", "external"], {
      if: [{ "==": [{ var: "injected" }, "set"] }, "internal", "external"],
    }),
    "header-aware": named(["acme", "other"], {
      if: [{ "==": [{ var: "tenant" }, "acme"] }, "acme", "other"],
    }),

    "null-default-flag": flag({ on: true, off: false }, null),
    "absent-default-flag": flag({ one: 1, two: 2 }, undefined),
    "no-default-null-targeting": flag({ normal: "CFO", special: "CEO" }, null, {
      targeting: { if: [ofAda, "special", null] },
    }),
    "no-default-no-else": flag({ normal: "CFO", special: "CEO" }, null, {
      targeting: { if: [ofAda, "special"] },
    }),

    "fractional-flag": named([...suits, "wild"], fourSuits({ var: "$flagd.flagKey" })),
    "fractional-shared-seed-1": named([...suits, "wild"], fourSuits("shared-seed")),
    "fractional-shared-seed-2": named([...suits, "wild"], fourSuits("shared-seed")),
    "fractional-flag-shorthand": named(["heads", "tails", "draw"], {
      fractional: [["heads"], ["tails", 1]],
    }),
    "fractional-single": named(["single", "fallback"], { fractional: [["single", 1]] }),
    "fractional-edges": named(["upper", "lower"], {
      fractional: [{ var: "targetingKey" }, ["lower", 50], ["upper", 50]],
    }),
    "fractional-nested-if": named(["premium", "standard", "fallback"], {
      fractional: [
        { var: "targetingKey" },
        [{ if: [{ "==": [{ var: "tier" }, "premium"] }, "premium", "standard"] }, 50],
        ["standard", 50],
      ],
    }),
    "fractional-nested-var": named(["red", "green", "blue", "fallback"], {
      fractional: [{ var: "targetingKey" }, [{ var: "color" }, 50], ["blue", 50]],
    }),
    "fractional-nested-weight": named(["red", "blue", "fallback"], {
      fractional: [
        { var: "targetingKey" },
        ["red", { if: [{ "==": [{ var: "tier" }, "premium"] }, 100, 0] }],
        ["blue", 10],
      ],
    }),
    "fractional-true": yesIf({
      fractional: [
        [false, 0],
        [true, 100],
      ],
    }),
    "fractional-false": yesIf({
      fractional: [
        [false, 100],
        [true, 0],
      ],
    }),
    "fractional-negative-weight": named(["one", "two", "fallback"], {
      fractional: [{ var: "targetingKey" }, ["one", -50], ["two", 100]],
    }),
    "fractional-zero-weights": named(["one", "two", "fallback"], {
      fractional: [{ var: "targetingKey" }, ["one", 0], ["two", 0]],
    }),
    "fractional-without-key": named(["one", "two", "fallback"], {
      fractional: [{ var: "missing" }, ["one", 50], ["two", 50]],
    }),

    "starts-ends": named(["prefix", "postfix", "none"], {
      if: [
        { starts_with: [{ var: "id" }, "abc"] },
        "prefix",
        { ends_with: [{ var: "id" }, "xyz"] },
        "postfix",
        "none",
      ],
    }),
    "compared-version": named(["equal", "greater", "lesser", "none"], {
      if: [
        version("=", "2.0.0"),
        "equal",
        version(">", "2.0.0"),
        "greater",
        version("<", "2.0.0"),
        "lesser",
        "none",
      ],
    }),
    "major-minor-version": named(["minor", "major", "none"], {
      if: [version("~", "3.0.0"), "minor", version("^", "3.0.0"), "major", "none"],
    }),
    "prefixed-version": yesIf(version("=", "v1.0.0")),
    "partial-version": yesIf(version("^", "1")),
    "numeric-version": yesIf(version(">", "1.1")),
    "built-version": yesIf(version("=", "1.0.0+build")),

    "timestamp-flag": flag({ past: -1, now: 0, future: 1 }, "now", {
      targeting: {
        if: [
          { ">": [{ var: "$flagd.timestamp" }, { var: "time" }] },
          "past",
          { "<": [{ var: "$flagd.timestamp" }, { var: "time" }] },
          "future",
          "now",
        ],
      },
    }),
    "targeting-key-flag": named(["hit", "miss"], {
      if: [{ "==": [{ var: "targetingKey" }, "5c3d8535-f81a-4478-a6d3-afaa4d51199e"] }, "hit", null],
    }),

    "null-variant": flag({ one: 1, two: 2 }, "two", { targeting: { if: [true, null, "one"] } }),
    "unknown-operator": flag({ one: 1, two: 2 }, "two", { targeting: { invalid: ["not an operator"] } }),
    "missing-variant": flag({ one: 1, two: 2 }, "two", { targeting: { if: [true, "three", "one"] } }),
    "boolean-variant": flag({ true: 2, false: 1 }, "false", { targeting: { if: [true, true, false] } }),
    "empty-targeting": flag({ true: 2, false: 1 }, "false", { targeting: {} }),
    "failing-version": failing(version("=", "1.0.0")),
    "failing-version-operator": failing(version("===", "1.0.0")),
    "failing-version-arguments": failing({ sem_ver: [{ var: "version" }, "="] }),
    "failing-starts-with": failing({ starts_with: [{ var: "num" }, "abc"] }),
    "failing-ends-with": failing({ ends_with: [{ var: "num" }, "xyz"] }),
    "starts-with-one-argument": failing({ starts_with: ["abc"] }),
    "ends-with-one-argument": failing({ ends_with: ["xyz"] }),

    "ref-1": named(["hi", "bye"], { if: [{ $ref: "isAda" }, "hi", "bye"] }),
    "ref-2": named(["yes", "no"], { if: [{ $ref: "isAda" }, "yes", "no"] }),
    "ref-to-nothing": named(["hi", "bye"], { if: [{ $ref: "nowhere" }, "hi", "bye"] }),
  };
  const text = JSON.stringify({ flags, $evaluators: { isAda: ofAda } });
  // A reference is found whatever the white space around it.
  const spaced = [' "ref-3": ', JSON.stringify(flags["ref-1"]).replace('"$ref":', '"$ref" : '), ","].join("");
  return text.replace('{"flags":{', `{"flags":{${spaced}`);
}

/** The second source of the agent: a flag set of its own. */
export const secondDocument = JSON.stringify({
  metadata: {
    flagSetId: "selected",
    string: "set",
    integer: 2,
    float: 2.2,
    boolean: false,
    "flag-set-string": "c",
    "flag-set-integer": 3,
    "flag-set-float": 3.2,
    "flag-set-boolean": false,
  },
  flags: {
    "cross-flagset-flag": flag({ on: true, off: false }, "on"),
    "only-set-metadata-flag": flag({ on: true, off: false }, "on"),
    "combined-metadata-flag": flag({ on: true, off: false }, "on", {
      metadata: { string: "a", integer: 1, float: 1.2, boolean: true },
    }),
    "selected-changing-flag": flag({ foo: "foo", bar: "bar" }, "foo"),
  },
} satisfies JsonObject);
