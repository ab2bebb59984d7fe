import { historyLength, type PastVersion } from "@bunting/protocol";
import type { EncodedContent, EncodedFlag, SnapshotBytes } from "./snapshot-bytes.js";

/** Keys that may differ between two versions of a document. */
export interface ChangedKeys {
  readonly flags: ReadonlySet<string>;
  readonly metadata: boolean;
  readonly evaluators: boolean;
}

/** The history of the version that follows `previous`, oldest first. Each version has its own list; they share the entries. */
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
 * What may differ between the version with this digest and the newest: the union of the changes since then. Undefined if the version is not
 * among the last 32. If the document had this digest several times, the last time counts, which is the shortest way.
 */
export function changedSince(history: readonly PastVersion[], digest: string): ChangedKeys | undefined {
  const from = history.findLastIndex((version) => version.digest === digest);
  return from < 0 ? undefined : changesOf(history.slice(from));
}

/** The union of what changed on a way. */
export function changesOf(way: readonly PastVersion[]): ChangedKeys {
  return {
    flags: new Set(way.flatMap(({ flags }) => flags)),
    metadata: way.some(({ metadata }) => metadata),
    evaluators: way.some(({ evaluators }) => evaluators),
  };
}

/** Compares texts: an unchanged flag usually keeps its object, but the same text in another object is no change either. */
function changedFlags(
  before: ReadonlyMap<string, EncodedFlag>,
  after: ReadonlyMap<string, EncodedFlag>,
): string[] {
  const changed: string[] = [];
  for (const [key, flag] of after) if (before.get(key)?.text !== flag.text) changed.push(key);
  for (const key of before.keys()) if (!after.has(key)) changed.push(key);
  return changed;
}
