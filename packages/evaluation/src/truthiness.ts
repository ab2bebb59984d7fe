import type { Value } from "./value.js";

/** Empty strings, lists and objects are false; so is zero, but not NaN. */
export function isTruthy(value: Value): boolean {
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      return value.length > 0;
    case "number":
      return value !== 0;
    case "bigint":
      return false;
    case "object":
      return value !== null && Object.keys(value).length > 0;
  }
}
