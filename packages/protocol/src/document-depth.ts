import type { JsonValue } from "./json.js";

/**
 * How many levels deep objects and lists may be nested in one flag, and in one evaluator of `$evaluators`. JSON.parse reads any depth, but
 * the code that writes, compares, compiles and runs flags is recursive: the limit is enforced where a document enters, so that nothing
 * behind needs to. A rule written by a person stays below 30.
 */
export const maxDocumentDepth = 200;

/**
 * What keeps a value from being served, as the end of a sentence about it; undefined if nothing does. The walk goes no deeper than the limit.
 *
 * JSON.parse reads a number beyond 1.8e308 as infinite, which JSON can't write. flagd refuses its document.
 */
export function unservable(value: JsonValue, levels: number = maxDocumentDepth): string | undefined {
  return unservableBelow(value, levels, levels);
}

function unservableBelow(value: JsonValue, levelsLeft: number, levels: number): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "has a number beyond 1.8e308";
  if (typeof value !== "object" || value === null) return undefined;
  if (levelsLeft === 0) return `is nested more than ${levels} levels deep`;
  for (const member of Object.values(value) as readonly JsonValue[]) {
    if (typeof member !== "object" && typeof member !== "number") continue;
    const problem = unservableBelow(member, levelsLeft - 1, levels);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
