import { compareUtf8 } from "@bunting/protocol";
import { fail } from "./rule-failure.js";
import type { Scope } from "./scope.js";
import { numberText } from "./to-text.js";
import { isList, type Value } from "./value.js";

/** Characters that Go's JSON writes as escapes and JavaScript's does not. */
const escapedByGo = /[<>&\u2028\u2029]/;
const escapes = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029" };
const loneSurrogate = /\\ud[89a-f][\da-f]{2}/g;

/**
 * A value as Go's encoder writes it: keys sorted, `<`, `>` and `&` escaped, the sign of zero kept. flagd compares this text with the names
 * of variants.
 *
 * @throws RuleFailure for a number that JSON can't write
 */
export function canonicalJsonText(value: Value): string {
  switch (typeof value) {
    case "boolean":
      return String(value);
    case "number":
      return jsonNumber(value);
    case "string":
      return jsonString(value);
    case "bigint":
      return "0";
    case "object":
      if (value === null) return "null";
      if (isList(value)) return `[${value.map(canonicalJsonText).join(",")}]`;
  }
  const members = Object.entries(value).sort(([a], [b]) => compareUtf8(a, b));
  return `{${members.map(([key, member]) => `${jsonString(key)}:${canonicalJsonText(member)}`).join(",")}}`;
}

/** The work of writing a character: it may become six, of two bytes each. */
const workPerWritten = 4;

/** @throws RuleFailure if the value contains a number that JSON can't write, or would make too long a text: parts of it may repeat */
export function requireWritable(value: Value, scope: Scope): void {
  if (typeof value === "number") requireFinite(value);
  else if (typeof value === "string") scope.charge(workPerWritten * value.length);
  else if (typeof value === "object" && value !== null) {
    if (isList(value)) {
      scope.charge(1 + value.length);
      for (const item of value) requireWritable(item, scope);
      return;
    }
    scope.chargeMembers(value);
    const keys = Object.keys(value);
    // Names are compared with each other to be sorted.
    const comparisons = Math.ceil(Math.log2(keys.length + 1));
    for (const key of keys) {
      scope.charge((key.length * comparisons) >> 3);
      requireWritable(value[key] ?? null, scope);
    }
  }
}

function requireFinite(number: number): void {
  if (!Number.isFinite(number)) fail("a result can't be infinite or not a number");
}

function jsonNumber(number: number): string {
  requireFinite(number);
  return number === 0 ? numberText(number) : String(number);
}

function jsonString(text: string): string {
  let json = JSON.stringify(text).replace(loneSurrogate, "\ufffd");
  // One character after the other: V8 takes a hundred bytes for each place where a function says what to write.
  if (escapedByGo.test(json))
    for (const [character, escape] of Object.entries(escapes)) json = json.replaceAll(character, escape);
  return json;
}
