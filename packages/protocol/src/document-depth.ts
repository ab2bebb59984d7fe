import type { JsonValue } from "./json.js";

/**
 * How many levels deep objects and lists may be nested in one flag, and in one evaluator of `$evaluators`. JSON.parse reads any depth, but
 * the code that writes, compares, compiles and runs flags is recursive: the limit is enforced where a document enters, so that nothing
 * behind needs to. A rule written by a person stays below 30.
 */
export const maxDocumentDepth = 200;

/** Whether a value's objects and lists are nested more than `limit` levels deep. The walk itself goes no deeper than that. */
export function isNestedDeeper(value: JsonValue, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  for (const member of Object.values(value) as readonly JsonValue[]) {
    if (typeof member === "object" && isNestedDeeper(member, limit - 1)) return true;
  }
  return false;
}
