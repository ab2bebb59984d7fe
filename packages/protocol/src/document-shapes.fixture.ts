import { makeFlagSet } from "../../../bench/fixtures/flag-set.js";
import { encodeDocument } from "./flag-document.js";

/** A flag document of about so many bytes; no two seeds have a flag in common. */
export type Shape = (bytes: number, seed: number) => string;

/** As many units as make up the size, within a frame. */
function filled(
  frame: (inner: string) => string,
  unit: (index: string) => string,
): (bytes: number) => string {
  return (bytes) => {
    const count = Math.max(1, Math.floor((bytes - frame("").length) / (unit("000000").length + 1)));
    return frame(Array.from({ length: count }, (_, i) => unit(String(i).padStart(6, "0"))).join(","));
  };
}

function flag(targeting: string, variants: string): string {
  return `{"state":"ENABLED","variants":${variants},"defaultVariant":"on","targeting":${targeting}}`;
}

const manyFlags = (unit: (index: string, seed: number) => string): Shape => {
  return (bytes, seed) =>
    filled(
      (inner) => `{"flags":{${inner}}}`,
      (index) => unit(`${seed}${index}`, seed),
    )(bytes);
};
const oneValue = (unit: (index: string) => string, open = "[", close = "]"): Shape => {
  return (bytes, seed) => {
    const last = open === "[" ? String(seed) : `"seed":${seed}`;
    const frame = (inner: string): string =>
      `{"flags":{"a":${flag("null", `{"on":${open}${inner},${last}${close}}`)}}}`;
    return filled(frame, unit)(bytes);
  };
};
const oneRule = (unit: (index: string) => string, operator: string): Shape => {
  return (bytes, seed) => {
    const frame = (inner: string): string =>
      `{"flags":{"a":${flag(`{"${operator}":[${inner},${seed}]}`, `{"on":true,"off":${seed}}`)}}}`;
    return filled(frame, unit)(bytes);
  };
};

/** Members of one object, which are short: half of what they take is V8's table of them. */
const shortMembers = (open: string, close: string): Shape => {
  return (bytes, seed) =>
    filled(
      (inner) => `{"flags":{"a":${open}${inner}${close}`,
      (index) => `"${seed}${index}":0`,
    )(bytes);
};

/** Documents as people have them, and those that cost the most heap for their size. */
export const shapes: Readonly<Record<string, Shape>> = {
  "flags as people write them": (bytes, seed) =>
    encodeDocument(makeFlagSet(Math.ceil(bytes / 250), seed).document),
  "many small flags": manyFlags(
    (key) => `"${key}":{"state":"ENABLED","variants":{"on":1},"defaultVariant":"on"}`,
  ),
  "many flags of nothing": manyFlags((key) => `"${key}":{}`),
  "many rejected flags": manyFlags((key, seed) => `"${key}":${seed}`),
  "many rules": manyFlags(
    (key) =>
      `"${key}":${flag('{"if":[{"in":[{"var":"email"},["a"]]},"on","off"]}', '{"on":true,"off":false}')}`,
  ),
  "a flag set for each flag": manyFlags(
    (key) => `"${key}":{"variants":{"on":1},"metadata":{"flagSetId":"${key}"}}`,
  ),
  "many flags with copies of the set's metadata": (bytes, seed) => {
    const metadata = Array.from({ length: 200 }, (_, index) => `"m${index}":${index}`).join(",");
    return filled(
      (inner) => `{"flags":{${inner}},"metadata":{${metadata}}}`,
      (index) => `"${seed}${index}":{"metadata":{"own":${seed}}}`,
    )(bytes);
  },
  "one long text": (bytes, seed) => `{"flags":{"a":${flag("null", `{"on":"${"x".repeat(bytes)}${seed}"}`)}}}`,
  "one long text with an emoji": (bytes, seed) =>
    `{"flags":{"a":${flag("null", `{"on":"\u{1f600}${"x".repeat(bytes)}${seed}"}`)}}}`,
  "one list of empty objects": oneValue(() => "{}"),
  "one list of empty lists": oneValue(() => "[]"),
  "one list of fractions": oneValue(() => "0.1"),
  "one list of nests": oneValue(() => '{"a":{"a":{"a":{}}}}'),
  "one object of many keys": oneValue((index) => `"${index}":0`, "{", "}"),
  "one rule of many conditions": oneRule((index) => `{"==":[{"var":"email"},"u${index}"]},"on"`, "if"),
  "many flags of one shared rule": (bytes, seed) => {
    const conditions = filled(
      (inner) => `{"or":[${inner}]}`,
      (index) => `{"==":[{"var":"email"},"u${seed}${index}"]}`,
    );
    const flags = filled(
      (inner) => `{"flags":{${inner}},"$evaluators":{"shared":${conditions(bytes / 2)}}}`,
      (index) =>
        `"${seed}${index}":${flag('{"if":[{"$ref":"shared"},"on","off"]}', '{"on":true,"off":false}')}`,
    );
    return flags(bytes);
  },
  "one rule of a long list": (bytes, seed) => {
    const items = Array.from({ length: bytes >> 1 }, () => "1").join(",");
    return `{"flags":{"a":${flag(`{"if":[{"in":["x",[${items}]]},"on","off"]}`, `{"on":true,"off":${seed}}`)}}}`;
  },
  "one shared rule of a long list": (bytes, seed) => {
    const items = Array.from({ length: bytes >> 1 }, () => "1").join(",");
    const rule = flag('{"if":[{"$ref":"listed"},"on","off"]}', `{"on":true,"off":${seed}}`);
    return `{"flags":{"a":${rule}},"$evaluators":{"listed":{"in":["x",[${items},${seed}]]}}}`;
  },
  "one rule of a long list of ranges": (bytes, seed) => {
    const items = Array.from({ length: Math.floor(bytes / 6) }, () => "[1,2]").join(",");
    return `{"flags":{"a":${flag(`{"if":[{"in":["x",[${items}]]},"on","off"]}`, `{"on":true,"off":${seed}}`)}}}`;
  },
  "one rule of many numbers": oneRule(() => "0", "or"),
  "one rule of many constant conditions": oneRule(() => "0,1", "if"),
  "one rule of many terms": oneRule(() => "1", "+"),
  "one rule of many terms and a variable": (bytes, seed) =>
    filled(
      (inner) => `{"flags":{"a":${flag(`{"+":[{"var":"seats"},${inner}]}`, `{"on":${seed}}`)}}}`,
      () => "1",
    )(bytes),
  "one rule of many shares": oneRule(() => '["on",1]', "fractional"),
  "one rule of many negations": oneRule(() => '{"!":1}', "or"),
  "one rule of many paths": oneRule(() => '{"var":"a.b.c.d"}', "or"),
  "one rule of many names": (bytes, seed) =>
    filled(
      (inner) => `{"flags":{"a":${flag(`{"missing":[${inner}]}`, `{"on":${seed}}`)}}}`,
      () => '"a"',
    )(bytes),
  "one rule of one long path": (bytes, seed) =>
    `{"flags":{"a":${flag(`{"var":"${"a.".repeat(bytes >> 1)}"}`, `{"on":${seed}}`)}}}`,
  "one rule of many sums": oneRule(() => '{"+":[1,0.5]}', "or"),
  "one rule of many lists": oneRule(() => '[[{"var":"x"}]]', "fractional"),
  "one rule of many list operators": oneRule(() => '{"filter":[[],1]}', "merge"),
  "one rule of many rules for items": oneRule(
    () => '{"some":[[],{"==":[{"var":"a"},{"var":"b"}]}]}',
    "fractional",
  ),
  "one rule of many results": oneRule(() => '[],{"if":[{"var":"x"},1]}', "if"),
  "one rule of many rules in a rule for items": (bytes, seed) =>
    filled(
      (inner) => `{"flags":{"a":${flag(`{"map":[[1],[${inner}]]}`, `{"on":${seed}}`)}}}`,
      () => '{"missing_some":[1,["a"]]}',
    )(bytes),
  "one rule of many buckets": oneRule((index) => `["${index}",1]`, "fractional"),
  "one flag of many variants": shortMembers('{"variants":{', "}}}}"),
  "one flag of much metadata": shortMembers('{"metadata":{', "}}}}"),
  "one rule of an object of many keys": shortMembers(
    '{"variants":{"on":1},"targeting":{"in":[{"var":"email"},{',
    "}]}}}}",
  ),
  "much metadata of the set": shortMembers('{}},"metadata":{', "}}"),
  "many evaluators of a number": shortMembers('{}},"$evaluators":{', "}}"),
  "many evaluators that refer to the one before": (bytes, seed) => {
    const unit = (index: number): string => `"${seed}${index}":{"!":[{"$ref":"${seed}${index - 1}"}]}`;
    const count = Math.ceil(bytes / (unit(10_000).length + 1));
    return `{"flags":{},"$evaluators":{${Array.from({ length: count }, (_, index) => unit(index)).join(",")}}}`;
  },
  "one list of long texts beyond Latin-1": (bytes, seed) =>
    `{"flags":{"a":${flag("null", `{"on":[${Array.from({ length: Math.ceil(bytes / 60_000) }, (_, index) => `"\u20ac${index}${"x".repeat(60_000)}${seed}"`).join(",")}]}`)}}}`,
  "one rule of many splits": oneRule(() => '{"fractional":[["a",1],["b",2]]}', "or"),
};
