import type { JsonValue } from "@openfeature/server-sdk";
import { values } from "./flag-documents.js";

/** One evaluation, and what every provider resolves. */
export interface Evaluation {
  readonly about: string;
  readonly key: string;
  /** The default in the code; its type chooses the method. */
  readonly fallback: JsonValue;
  readonly context?: Readonly<Record<string, JsonValue>>;
  readonly value: JsonValue;
  readonly variant?: string;
  readonly reason?: string;
  readonly errorCode?: string;
  /** The answer has no value. This version of the OFREP provider takes that, which the protocol allows, for an error. */
  readonly hasNoValue?: true;
}

const ada = { email: "ada@example.com" };
const guest = { email: "guest@example.org" };

/** Other defaults in the code than any variant. */
const fallbacks = { boolean: true, string: "fallback", integer: 1, float: 0.1, object: { code: true } };

const perType = (Object.keys(values) as (keyof typeof values)[]).flatMap((type): readonly Evaluation[] => {
  const { some, zero } = values[type];
  const fallback = fallbacks[type];
  const disabled = { key: `disabled-${type}-flag`, reason: "DISABLED", hasNoValue: true } as const;
  return [
    {
      about: `${type}: a value`,
      key: `${type}-flag`,
      fallback: type === "boolean" ? false : fallback,
      value: some,
      variant: "some",
      reason: "STATIC",
    },
    {
      about: `${type}: nothing, static`,
      key: `${type}-zero-flag`,
      fallback,
      value: zero,
      variant: "zero",
      reason: "STATIC",
    },
    {
      about: `${type}: nothing, targeted`,
      key: `${type}-targeted-zero-flag`,
      fallback,
      context: ada,
      value: zero,
      variant: "zero",
      reason: "TARGETING_MATCH",
    },
    {
      about: `${type}: nothing, by default`,
      key: `${type}-targeted-zero-flag`,
      fallback,
      context: guest,
      value: zero,
      variant: "zero",
      reason: "DEFAULT",
    },
    { about: `${type}: disabled`, ...disabled, fallback, value: fallback },
    { about: `${type}: disabled, with nothing as default`, ...disabled, fallback: zero, value: zero },
  ];
});

const byDefault = { reason: "DEFAULT", hasNoValue: true } as const;
const withoutDefault: readonly Evaluation[] = [
  ...[true, false].map((fallback): Evaluation => ({
    about: `no default variant (null), ${String(fallback)} in the code`,
    key: "null-default-flag",
    fallback,
    value: fallback,
    ...byDefault,
  })),
  {
    about: "no default variant (absent)",
    key: "absent-default-flag",
    fallback: 100,
    value: 100,
    ...byDefault,
  },
  ...["no-default-null-targeting", "no-default-no-else"].flatMap((key): readonly Evaluation[] => [
    { about: `${key}, no match`, key, context: guest, fallback: "Founder", value: "Founder", ...byDefault },
    {
      about: `${key}, match`,
      key,
      context: ada,
      fallback: "Founder",
      value: "CEO",
      variant: "special",
      reason: "TARGETING_MATCH",
    },
  ]),
];

const mismatches: readonly Evaluation[] = (
  [
    ["string-flag", false],
    ["string-flag", 1],
    ["string-flag", { code: true }],
    ["boolean-flag", "fallback"],
    ["boolean-flag", 1],
    ["integer-flag", false],
    ["integer-flag", "fallback"],
    ["float-flag", false],
    ["float-flag", "fallback"],
    ["object-flag", "fallback"],
  ] as const
).map(([key, fallback]) => ({
  about: `${key} asked for as ${typeof fallback}`,
  key,
  fallback,
  value: fallback,
  reason: "ERROR",
  errorCode: "TYPE_MISMATCH",
}));

type Context = Readonly<Record<string, JsonValue>>;

/** Flags whose variants are their own values. */
function named(key: string, ...pairs: readonly (readonly [Context, string])[]): readonly Evaluation[] {
  return pairs.map(([context, value]) => ({
    about: `${key}, ${JSON.stringify(context)}`,
    key,
    context,
    fallback: "code default",
    value,
    variant: value,
  }));
}

const byName = (name: JsonValue): Context => ({ user: { name } });
const byKey = (targetingKey: string, more: Context = {}): Context => ({ targetingKey, ...more });
const byVersion = (version: JsonValue): Context => ({ version });
const always: Context = byKey("some-targeting-key");

const fractional: readonly Evaluation[] = [
  ...named(
    "fractional-flag",
    [byName("jack"), "hearts"],
    [byName("queen"), "spades"],
    [byName("ten"), "clubs"],
    [byName("nine"), "diamonds"],
    [byName(3), "clubs"],
  ),
  ...["fractional-shared-seed-1", "fractional-shared-seed-2"].flatMap((key) =>
    named(
      key,
      [byName("seven"), "hearts"],
      [byName("eight"), "diamonds"],
      [byName("nine"), "clubs"],
      [byName("two"), "spades"],
    ),
  ),
  ...named(
    "fractional-flag-shorthand",
    [byKey("jon@company.com"), "heads"],
    [byKey("jane@company.com"), "tails"],
  ),
  ...named("fractional-single", [always, "single"]),
  // Their hashes are 0, 1, 2^31 - 1, 2^31 and 2^32 - 1.
  ...named(
    "fractional-edges",
    [byKey("ejOoVL"), "lower"],
    [byKey("bY9fO-"), "lower"],
    [byKey("SI7p-"), "lower"],
    [byKey("6LvT0"), "upper"],
    [byKey("ceQdGm"), "upper"],
  ),
  ...named(
    "fractional-nested-if",
    [byKey("jon@company.com", { tier: "premium" }), "premium"],
    [byKey("jon@company.com", { tier: "basic" }), "standard"],
    [byKey("user1", { tier: "premium" }), "standard"],
  ),
  ...named(
    "fractional-nested-var",
    [byKey("jon@company.com", { color: "red" }), "red"],
    [byKey("jon@company.com", { color: "green" }), "green"],
    [byKey("user1", { color: "red" }), "blue"],
  ),
  ...named(
    "fractional-nested-weight",
    [byKey("jon@company.com", { tier: "premium" }), "red"],
    [byKey("jon@company.com", { tier: "basic" }), "blue"],
    [byKey("user1", { tier: "premium" }), "red"],
    [byKey("user1", { tier: "basic" }), "blue"],
  ),
  ...named("fractional-true", [always, "yes"]),
  ...named("fractional-false", [always, "no"]),
  ...named("fractional-negative-weight", [always, "two"]),
];

const targeting: readonly Evaluation[] = [
  ...["ref-1", "ref-3"].flatMap((key) => named(key, [ada, "hi"], [guest, "bye"])),
  ...named("ref-2", [ada, "yes"], [guest, "no"]),
  ...named(
    "starts-ends",
    [{ id: "abcdef" }, "prefix"],
    [{ id: "uvwxyz" }, "postfix"],
    [{ id: "abcxyz" }, "prefix"],
    [{ id: "lmnopq" }, "none"],
    [{ id: "3" }, "none"],
  ),
  ...named(
    "compared-version",
    [byVersion("2.0.0"), "equal"],
    [byVersion("2.1.0"), "greater"],
    [byVersion("1.9.0"), "lesser"],
    [byVersion("2.0.0-alpha"), "lesser"],
    [byVersion("2.0.0.0"), "none"],
  ),
  ...named(
    "major-minor-version",
    [byVersion("3.0.1"), "minor"],
    [byVersion("3.1.0"), "major"],
    [byVersion("4.0.0"), "none"],
  ),
  ...named(
    "prefixed-version",
    [byVersion("1.0.0"), "yes"],
    [byVersion("v1.0.0"), "yes"],
    [byVersion("V1.0.0"), "yes"],
    [byVersion("2.0.0"), "no"],
  ),
  ...named(
    "partial-version",
    [byVersion("1.5.0"), "yes"],
    [byVersion("1.0"), "yes"],
    [byVersion("1"), "yes"],
    [byVersion(1), "yes"],
    [byVersion("2.0.0"), "no"],
  ),
  ...named("numeric-version", [byVersion(1.2), "yes"], [byVersion(1), "no"]),
  ...named(
    "built-version",
    [byVersion("1.0.0"), "yes"],
    [byVersion("1.0.0+other"), "yes"],
    [byVersion("2.0.0"), "no"],
  ),
  ...(
    [
      [1, -1, "past"],
      [4_133_980_802, 1, "future"],
    ] as const
  ).map(([time, value, variant]): Evaluation => ({
    about: `timestamp-flag, ${variant}`,
    key: "timestamp-flag",
    context: { time },
    fallback: 7,
    value,
    variant,
  })),
  ...(
    [
      ["5c3d8535-f81a-4478-a6d3-afaa4d51199e", "hit", "TARGETING_MATCH"],
      ["f20bd32d-703b-48b6-bc8e-79d53c85134a", "miss", "DEFAULT"],
    ] as const
  ).map(([targetingKey, value, reason]): Evaluation => ({
    about: `targeting-key-flag, ${value}`,
    key: "targeting-key-flag",
    context: { targetingKey },
    fallback: "code default",
    value,
    variant: value,
    reason,
  })),
];

const errors: readonly Evaluation[] = [
  { about: "no flag", key: "nowhere", fallback: 3, value: 3, reason: "ERROR", errorCode: "FLAG_NOT_FOUND" },
  { about: "a null variant", key: "null-variant", fallback: 3, value: 2, reason: "DEFAULT" },
  { about: "a boolean variant", key: "boolean-variant", fallback: 3, value: 2, reason: "TARGETING_MATCH" },
  { about: "no targeting", key: "empty-targeting", fallback: 3, value: 1, reason: "STATIC" },
  {
    about: "an unknown operator",
    key: "unknown-operator",
    fallback: 3,
    value: 3,
    reason: "ERROR",
    errorCode: "PARSE_ERROR",
  },
  {
    about: "a reference to nothing",
    key: "ref-to-nothing",
    fallback: "code default",
    value: "code default",
    reason: "ERROR",
    errorCode: "PARSE_ERROR",
  },
  {
    about: "a variant that is missing",
    key: "missing-variant",
    fallback: 3,
    value: 3,
    reason: "ERROR",
    errorCode: "GENERAL",
  },
  ...(
    [
      ["fractional-nested-var", byKey("jon@company.com", { color: "yellow" })],
      ["fractional-nested-var", byKey("jon@company.com", { color: "" })],
    ] as const
  ).map(([key, context]): Evaluation => ({
    about: `${key}, ${JSON.stringify(context)}`,
    key,
    context,
    fallback: "fallback",
    value: "fallback",
  })),
  ...(
    [
      ["failing-version", byVersion("not-a-version")],
      ["failing-version-operator", byVersion("1.0.0")],
      ["failing-version-arguments", byVersion("1.0.0")],
      ["failing-starts-with", { num: 123 }],
      ["failing-ends-with", { num: 123 }],
      ["starts-with-one-argument", {}],
      ["ends-with-one-argument", {}],
      ["fractional-zero-weights", byKey("any-user")],
      ["fractional-without-key", {}],
    ] as const
  ).map(([key, context]): Evaluation => ({
    about: `${key}: the default variant`,
    key,
    context,
    fallback: "code default",
    value: "fallback",
    variant: "fallback",
    reason: "DEFAULT",
  })),
];

export const evaluations: readonly Evaluation[] = [
  ...perType,
  ...withoutDefault,
  ...mismatches,
  ...fractional,
  ...targeting,
  ...errors,
];
