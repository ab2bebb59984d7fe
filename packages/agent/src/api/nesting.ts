import type { JsonValue } from "@bunting/protocol";

/**
 * How many objects and lists may lie within each other in a context. JSON.parse reads any depth, but what walks the result calls
 * itself: the bound is kept here, at the door, for all that follows.
 */
export const maxNesting = 64;

/** True if a value's objects and lists lie deeper within each other than `limit`. */
export function isNestedDeeper(value: JsonValue, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  for (const member of Array.isArray(value) ? (value as readonly JsonValue[]) : Object.values(value)) {
    if (typeof member === "object" && isNestedDeeper(member, limit - 1)) return true;
  }
  return false;
}
