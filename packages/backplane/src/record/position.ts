import { BackplaneError } from "../backplane-error.js";

/**
 * Where a topic is in its history. Within an epoch, resourceVersions order it; a later epoch is newer, whatever its resourceVersion: it is
 * opened when the API server's store was restored to an older state, or when nobody knows what was there before.
 *
 * The number of an epoch is a fencing number of the owner that opened it. So epochs need no counter of their own, and like fencing numbers
 * they never go backwards, even where Redis was emptied: otherwise followers would refuse all that comes after it.
 */
export interface RecordPosition {
  readonly epoch: number;
  /** An integer, as text: it may be larger than a number can be. */
  readonly resourceVersion: string;
}

/** Negative if `a` is older than `b`. */
export function comparePositions(a: RecordPosition, b: RecordPosition): number {
  return a.epoch - b.epoch || compareVersions(a.resourceVersion, b.resourceVersion);
}

/** Of integers without leading zeros, the one with more digits is larger. The script that writes records does the same. */
function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a === b ? 0 : a < b ? -1 : 1;
}

export function isPosition({
  epoch,
  resourceVersion,
}: Partial<Record<keyof RecordPosition, unknown>>): boolean {
  return (
    Number.isSafeInteger(epoch) &&
    (epoch as number) >= 0 &&
    typeof resourceVersion === "string" &&
    /^(0|[1-9]\d{0,19})$/.test(resourceVersion)
  );
}

/** @throws BackplaneError RECORD_MALFORMED */
export function requirePosition(position: RecordPosition): void {
  if (!isPosition(position))
    throw new BackplaneError(
      "RECORD_MALFORMED",
      `epoch ${position.epoch} and resourceVersion ${JSON.stringify(position.resourceVersion)} do not order versions: both are integers`,
    );
}
