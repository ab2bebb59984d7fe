import { compareUtf8 } from "@bunting/protocol";
import { coerceToNumber } from "./to-number.js";
import type { Scope } from "./scope.js";
import type { Value } from "./value.js";

/** Compares two strings by their UTF-8 bytes, and everything else as numbers. */
export function isLess(a: Value, b: Value, scope: Scope): boolean {
  if (typeof a === "number" && typeof b === "number") return a < b;
  if (typeof a === "string" && typeof b === "string") {
    scope.chargeText(a.length < b.length ? a : b);
    return compareUtf8(a, b) < 0;
  }
  return coerceToNumber(a, scope) < coerceToNumber(b, scope);
}

/** Null equals only null; two strings are compared as strings, everything else as numbers. */
export function isEqual(a: Value, b: Value, scope: Scope): boolean {
  if (typeof a === "string" && typeof b === "string") return isSameText(a, b, scope);
  if (a === null || b === null) return a === b;
  return coerceToNumber(a, scope) === coerceToNumber(b, scope);
}

/** Equal and of the same type. Lists and objects equal nothing, not even themselves. */
export function isStrictlyEqual(a: Value, b: Value, scope: Scope): boolean {
  if (a === null || b === null) return a === b;
  return typeof a === typeof b && isEqual(a, b, scope);
}

/** Equality of texts: only those of the same length are read. */
export function isSameText(a: string, b: string, scope: Scope): boolean {
  if (a.length !== b.length) return false;
  scope.chargeText(a);
  return a === b;
}
