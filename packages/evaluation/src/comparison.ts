import { compareUtf8 } from "@bunting/protocol";
import { coerceToNumber } from "./to-number.js";
import type { Value } from "./value.js";

/** Compares two strings by their UTF-8 bytes, and everything else as numbers. */
export function isLess(a: Value, b: Value): boolean {
  if (typeof a === "number" && typeof b === "number") return a < b;
  if (typeof a === "string" && typeof b === "string") return compareUtf8(a, b) < 0;
  return coerceToNumber(a) < coerceToNumber(b);
}

/** Null equals only null; two strings are compared as strings, everything else as numbers. */
export function isEqual(a: Value, b: Value): boolean {
  if (typeof a === "string" && typeof b === "string") return a === b;
  if (a === null || b === null) return a === b;
  return coerceToNumber(a) === coerceToNumber(b);
}

/** Equal and of the same type. Lists and objects equal nothing, not even themselves. */
export function isStrictlyEqual(a: Value, b: Value): boolean {
  if (a === null || b === null) return a === b;
  return typeof a === typeof b && isEqual(a, b);
}
