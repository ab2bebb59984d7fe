import type { JsonValue } from "@bunting/protocol";

/**
 * How deeply objects and lists may be nested in a context. JSON.parse reads any depth, but what walks the result is recursive: the limit
 * is enforced on requests, so that nothing behind them needs to.
 */
export const maxNesting = 64;

/** How many values a request may have: small ones take far more memory than they have bytes. Several times what a large context has. */
export const maxValues = 100_000;

/** Whether a value's objects and lists are nested more than `limit` levels deep. */
export function isNestedDeeper(value: JsonValue, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  for (const member of Array.isArray(value) ? (value as readonly JsonValue[]) : Object.values(value)) {
    if (typeof member === "object" && isNestedDeeper(member, limit - 1)) return true;
  }
  return false;
}
