/**
 * The values of rules: JSON, and one more. The engine of flagd answers `{"-": []}` and `{"/": []}` with a Go integer, which its other
 * operators distinguish from JSON numbers. That integer is a bigint here; nothing else is.
 */
export type Value = null | boolean | number | string | bigint | readonly Value[] | ValueMap;

export interface ValueMap {
  readonly [key: string]: Value;
}

/** The only integer there is. */
export const integerZero = 0n;

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

export function isMap(value: Value): value is ValueMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isNumber(value: Value): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

/** A boolean, number or string: not null. */
export function isPrimitive(value: Value): value is boolean | number | string | bigint {
  return typeof value !== "object";
}
