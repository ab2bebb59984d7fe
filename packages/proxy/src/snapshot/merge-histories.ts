import { historyLength, type PastVersion } from "@bunting/protocol";
import { changesOf } from "./changed-keys.js";

/**
 * Merges two histories that lead to the same version: the own one, whose every step this process has seen, and that
 * reported by the source. In the result, each version is followed by at least the changes since then, so deltas are right
 * if both histories are. The source's may be wrong: agents then find that a delta does not lead to its digest.
 *
 * @param own ends with the version that this process had before; empty if there was none
 */
export function mergeHistories(
  own: readonly PastVersion[],
  reported: readonly PastVersion[],
): readonly PastVersion[] {
  const last = own.at(-1);
  if (last === undefined) return reported.slice(-historyLength);
  const at = reported.findLastIndex(({ digest }) => digest === last.digest);
  if (at < 0) return appended(own, reported);
  const since = reported.slice(at);
  if (!leadsThrough(since, last)) return own;
  // The longer history up to our last version, then the reported steps from there: `own` has only their sum.
  const before = own.length - 1 > at ? own.slice(0, -1) : reported.slice(0, at);
  return [...before, ...since].slice(-historyLength);
}

/**
 * Appends histories without a common version, because the source's begins later or was cut. A delta from our versions then
 * contains all of the reported ones: more than needed, but right. Each gets half of the places if there are not enough.
 */
function appended(own: readonly PastVersion[], reported: readonly PastVersion[]): readonly PastVersion[] {
  const half = historyLength / 2;
  const ofReported = Math.min(reported.length, Math.max(half, historyLength - own.length));
  return [...own.slice(ofReported - historyLength), ...reported.slice(reported.length - ofReported)];
}

/** True if the steps contain all that has really changed. */
function leadsThrough(way: readonly PastVersion[], { flags, metadata, evaluators }: PastVersion): boolean {
  const changes = changesOf(way);
  return (
    flags.every((key) => changes.flags.has(key)) &&
    (changes.metadata || !metadata) &&
    (changes.evaluators || !evaluators)
  );
}
