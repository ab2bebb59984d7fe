import { parseFloatText } from "./parse-float.js";
import { fail } from "./rule-failure.js";
import type { Scope } from "./scope.js";
import { trimSpace } from "./trim-space.js";
import { integerZero, type Value } from "./value.js";

/** Converts a value for arithmetic. A string that is not a number is 0; other types fail. */
export function toNumber(value: Value, scope: Scope): number {
  if (typeof value === "number") return value;
  if (typeof value === "string") {
    scope.chargeReading(value);
    return parseFloatText(value) ?? 0;
  }
  if (value === integerZero) return 0;
  return fail("a number or string is needed");
}

/** Converts a value for comparison: as JavaScript does, but lists, objects and text around a number give NaN. */
export function coerceToNumber(value: Value, scope: Scope): number {
  switch (typeof value) {
    case "number":
      return value;
    case "boolean":
      return value ? 1 : 0;
    case "string":
      scope.chargeReading(value);
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
  // A number that is too large does not count as one; the word for infinity does.
  return Number.isFinite(number) || !/\d/.test(text) ? number : NaN;
}

/** The integer part as a 64-bit Go int; a number that does not fit gives the smallest int. */
export function toInteger(number: number): number {
  const whole = Math.trunc(number) + 0;
  return whole >= -(2 ** 63) && whole < 2 ** 63 ? whole : -(2 ** 63);
}
