import { isSameFile, isSameStamp, type FileStamp } from "./file-stamp.js";

/**
 * Tells a file that was put in place whole (renamed, or a symbolic link swapped) from one that is being written.
 *
 * A half-written manifest often still parses, so that being wrong towards "whole" serves half of the flags; being wrong towards
 * "writing" costs 25 ms. fs.watch says "rename" for a creation, a deletion and both ends of a rename, and "change" for a write or a
 * chmod. That alone decides nothing, and neither does the file alone: a fast writer's write and rename carry the same timestamp
 * (they tick every 4 ms on common kernels; ctime = mtime was the rule on ext4 and tmpfs). Together they do. With `before` the stamp
 * of an earlier look, `after` that of now, and `events` all that came for this name between the two looks:
 *
 * 1. The path leads elsewhere than before: a link was swapped, on the file or on a folder above it. Whole.
 * 2. Any "change": somebody writes to it. Writing.
 * 3. Another file than before, and exactly one "rename": it was renamed over the old one. Whatever else puts another file there
 *    (unlink and create, move away and create) takes two, which the kernel never merges since they differ. Whole. Two renames over
 *    the file may be merged into one event: whole as well.
 * 4. Another file, or the first one, came by "rename" events, and its ctime lies after its mtime: its inode was touched after the
 *    last write, and it was not a chmod (rule 2). A file being created has both equal until its first "change". Whole.
 * 5. Another file, or the first one, and no event at all (at start, or it came with its folder): whole if it was left alone longer
 *    than a rest takes.
 * 6. Everything else: writing.
 *
 * The proof of 3 and 4 needs every event between the two looks: whoever calls this drains the event queue after each look, and
 * looks again if something arrived.
 */
export function classifyChange(look: Look): Change {
  const { before, after, events } = look;
  if (after === undefined) return before === undefined ? "none" : "absent";
  const isQuiet = events.renames === 0 && events.changes === 0;
  if (before !== undefined) {
    if (isQuiet && isSameStamp(before, after)) return "none";
    if ((after.isLink || !before.isLink) && before.realPath !== after.realPath) return "whole";
  }
  if (events.changes > 0) return "writing";
  const isOther = before === undefined || !isSameFile(before, after);
  if (!isOther) return "writing";
  if (isQuiet) return isOld(after, look.nowMs) ? "whole" : "writing";
  if (before !== undefined && events.renames === 1) return "whole";
  return after.changedNs > after.modifiedNs ? "whole" : "writing";
}

/**
 * - none: nothing happened since the look before.
 * - whole: what is there now was complete when it got this name; read it at once.
 * - writing: it may be half written; read it once it rested.
 * - absent: it was there and is not any more.
 */
export type Change = "none" | "whole" | "writing" | "absent";

export interface Look {
  readonly before: FileStamp | undefined;
  readonly after: FileStamp | undefined;
  readonly events: FileEvents;
  /** Milliseconds since the epoch, now. */
  readonly nowMs: number;
}

/** What fs.watch said of one name between two looks at it. */
export interface FileEvents {
  readonly renames: number;
  readonly changes: number;
}

/** How long size and time of modification must not have moved before a file that was written in place is read. */
export const restMs = 25;

/** Timestamps of files lag the clock by up to one tick, 10 ms on the slowest kernels. */
const tickMs = 10;

function isOld(stamp: FileStamp, nowMs: number): boolean {
  const touchedNs = stamp.changedNs > stamp.modifiedNs ? stamp.changedNs : stamp.modifiedNs;
  return Number(touchedNs / 1_000_000n) + restMs + tickMs < nowMs;
}
