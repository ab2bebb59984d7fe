import { parseFloatText } from "./parse-float.js";
import { fail } from "./rule-failure.js";
import { trimSpace } from "./trim-space.js";
import { integerZero, type Value } from "./value.js";

/** The number that arithmetic makes of a value. A string that is no number is 0; what is neither number nor string fails. */
export function toNumber(value: Value): number {
  if (typeof value === "number") return value;
  if (typeof value === "string") return parseFloatText(value) ?? 0;
  if (value === integerZero) return 0;
  return fail("a number or string is needed");
}

/** The number that a comparison makes of a value: as JavaScript would, but NaN for lists, objects and text around a number. */
export function coerceToNumber(value: Value): number {
  switch (typeof value) {
    case "number":
      return value;
    case "boolean":
      return value ? 1 : 0;
    case "string":
      return coerceText(value);
    case "bigint":
      return 0;
    case "object":
      return value === null ? 0 : NaN;
  }
}

function coerceText(text: string): number {
  if (trimSpace(text) === "") return 0;
  const number = parseFloatText(text) ?? NaN;
  // A number too large to hold is none here; the word for infinity is one.
  return Number.isFinite(number) || !/\d/.test(text) ? number : NaN;
}

/** The whole part as a Go int of 64 bits: what does not fit is the smallest one there is. */
export function toInteger(number: number): number {
  const whole = Math.trunc(number) + 0;
  return whole >= -(2 ** 63) && whole < 2 ** 63 ? whole : -(2 ** 63);
}
