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
      return value !== null && (Array.isArray(value) ? value.length > 0 : hasMember(value));
  }
}

/** Without making a list of all names. */
function hasMember(value: object): boolean {
  for (const name in value) if (Object.hasOwn(value, name)) return true;
  return false;
}
