import { BackplaneError } from "../backplane-error.js";

/**
 * The position of a record in a topic's history. Within an epoch, resourceVersions order records; a later epoch is newer,
 * whatever its resourceVersions. A new epoch begins when the API server's store was restored to an older state, or when the
 * earlier history is unknown.
 *
 * The number of an epoch is a fencing number of the owner that opened it. So epochs need no counter of their own, and like
 * fencing numbers they never go back, even where Redis was emptied: followers would refuse all later records.
 */
export interface RecordPosition {
  readonly epoch: number;
  /** An integer, as text: it may be larger than a number can be. */
  readonly resourceVersion: string;
}

/** Far more epochs than any replica begins after a fencing number by itself, without a lease. */
export const epochsAfterFence = 1_000_000;

/** Negative if `a` is older than `b`. */
export function comparePositions(a: RecordPosition, b: RecordPosition): number {
  return a.epoch - b.epoch || compareVersions(a.resourceVersion, b.resourceVersion);
}

/** Integers as text, without leading zeros: more digits are larger. The script that writes records compares alike. */
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
