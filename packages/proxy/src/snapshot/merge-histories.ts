import { historyLength, type PastVersion } from "@bunting/protocol";
import { changesOf } from "./changed-keys.js";

/**
 * One history out of two that lead to the same version: the own one, each step of which this process has seen, and what the source says. In
 * the result each version is followed by at least what changed since then, so deltas from it are right if both histories are. The source's
 * may not be: then agents find that a delta does not lead to its digest.
 *
 * @param own its last version is the one that this process had before; empty if it had none
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
  // The longer way to the version that was here before, then the finer one from there: `own` knows only the sum of it.
  const before = own.length - 1 > at ? own.slice(0, -1) : reported.slice(0, at);
  return [...before, ...since].slice(-historyLength);
}

/**
 * Histories that have no version in common: the source begins later, or its history was cut. Whoever starts from the own one passes through
 * the other as well, which is more than needed, and right. Each has half of the places if there are not enough.
 */
function appended(own: readonly PastVersion[], reported: readonly PastVersion[]): readonly PastVersion[] {
  const half = historyLength / 2;
  const ofReported = Math.min(reported.length, Math.max(half, historyLength - own.length));
  return [...own.slice(ofReported - historyLength), ...reported.slice(reported.length - ofReported)];
}

/** Whether the way contains what has really changed. */
function leadsThrough(way: readonly PastVersion[], { flags, metadata, evaluators }: PastVersion): boolean {
  const changes = changesOf(way);
  return (
    flags.every((key) => changes.flags.has(key)) &&
    (changes.metadata || !metadata) &&
    (changes.evaluators || !evaluators)
  );
}
