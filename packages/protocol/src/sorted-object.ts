import { compareUtf8 } from "./canonical-json.js";
import type { JsonObject, JsonValue } from "./json.js";

/** Object.fromEntries defines own properties, so that a flag called `__proto__` stays a flag. Sorts the array that it is given. */
export function sortedObject(entries: [string, JsonValue][]): JsonObject {
  return Object.fromEntries(entries.sort(([a], [b]) => compareUtf8(a, b)));
}
