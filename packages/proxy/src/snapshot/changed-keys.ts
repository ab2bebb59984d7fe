import type { EncodedContent, EncodedFlag, PastVersion, SnapshotBytes } from "./snapshot-bytes.js";

/** How many versions before the newest a delta can start from. */
export const historyLength = 32;

/** What may differ between two versions of a document. */
export interface ChangedKeys {
  readonly flags: ReadonlySet<string>;
  readonly metadata: boolean;
  readonly evaluators: boolean;
}

/** The versions before one that follows `previous`, the oldest first. Each document has its own list; they share what is in it. */
export function extendHistory(
  previous: Omit<SnapshotBytes, "syncFrame" | "textStart" | "textLength">,
  next: EncodedContent,
): readonly PastVersion[] {
  const last: PastVersion = {
    digest: previous.digest,
    flags: changedFlags(previous.flags, next.flags),
    metadata: previous.metadata !== next.metadata,
    evaluators: previous.evaluators !== next.evaluators,
  };
  return [...previous.history.slice(1 - historyLength), last];
}

/**
 * What may differ between the version with this digest and the newest: the union of what changed on the way. Undefined if the version
 * is not among the last 32. Where a document came back to what it was, the way from its last occurrence is the shortest.
 */
export function changedSince(history: readonly PastVersion[], digest: string): ChangedKeys | undefined {
  const from = history.findLastIndex((version) => version.digest === digest);
  if (from < 0) return undefined;
  const way = history.slice(from);
  return {
    flags: new Set(way.flatMap(({ flags }) => flags)),
    metadata: way.some(({ metadata }) => metadata),
    evaluators: way.some(({ evaluators }) => evaluators),
  };
}

/** An unchanged flag keeps its object, and the same text under another object is no change either. */
function changedFlags(
  before: ReadonlyMap<string, EncodedFlag>,
  after: ReadonlyMap<string, EncodedFlag>,
): string[] {
  const changed: string[] = [];
  for (const [key, flag] of after) if (before.get(key)?.text !== flag.text) changed.push(key);
  for (const key of before.keys()) if (!after.has(key)) changed.push(key);
  return changed;
}
