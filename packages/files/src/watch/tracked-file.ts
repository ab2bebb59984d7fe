import { createHash } from "node:crypto";
import type { FileEvent } from "./file-event.js";
import { errorCode } from "@bunting/runtime";
import { isNotFound, isSameStamp, leadsElsewhere, toError, type FileStamp } from "./file-stamp.js";
import { readWholeFile } from "./read-whole-file.js";

/** How long a file's size and times must be stable before it is read, and how long it must be missing before it counts as gone. */
export const restMs = 25;

/** A file that nobody has touched for so long is not half-written: some 40 times the rest, because a file server has its own clock. */
const settledMs = 1_000;

/** Most re-scans until a listener that asks for the same content again is told of it; at first one, then twice as many each time. */
const mostRescans = 16;

/** The last event, if the next one is made even if it is equal. */
const toRepeat = "";

/** Result of a scan of a path: a regular file, nothing, or the reason why it can't be examined. */
export type ScanResult = FileStamp | Error | undefined;

/** A scan that examined a file. */
export interface Examination {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly isRescan: boolean;
  /** True if no file needs to rest: it is the first scan, and none has been touched for long. */
  readonly areSettled: boolean;
  /** True if one rename was all that happened to the path since the scan before. */
  readonly isRenamed: boolean;
}

/** True unless a scan found a file that was touched a moment ago. */
export function isSettled(found: ScanResult, nowMs: number): boolean {
  return found === undefined || found instanceof Error || found.changedMs <= nowMs - settledMs;
}

/**
 * One path at which a file is or was.
 *
 * A half-written manifest often still parses, with fewer flags. So a changed or missing file is handled only after it has been stable
 * for 25 ms. Read at once are a swapped symlink and a file renamed over another (and once more after the 25 ms), and at the start files that have
 * been as they are for long. A missing file waits, too, because some editors remove a file and write it again: it has changed and was not
 * deleted.
 */
export class TrackedFile {
  readonly path: string;
  readonly #maxBytes: number;
  #stamp: FileStamp | undefined;
  #noticedMs = 0;
  /** When the scan ended that found the file as the one before had, after its rest. */
  #confirmedMs = -Infinity;
  #restedMs: number | undefined;
  /** Identifies the last event; undefined if there was none, or the file is gone, of which nothing is to be told then. */
  #lastEvent: string | undefined;
  #error: Error | undefined;
  /** Whether an event is to be made of what was noted; `untouched`: only if nothing more happens to the path before it is read. */
  #readiness: "no" | "untouched" | "yes" = "no";
  /** How many re-scans from now the content is reported again, even if unchanged. */
  #rescansToRetry = Infinity;
  #retries = 0;

  constructor(path: string, maxBytes: number) {
    this.path = path;
    this.#maxBytes = maxBytes;
  }

  /** When the rest of the file ends; undefined if it does not rest. */
  get restedMs(): number | undefined {
    return this.#restedMs;
  }

  /**
   * True if this file is gone, and `other` rests, which the scan that confirmed the absence had seen: that scan alone has looked at both
   * after the move. However long scans take, a file that moved is therefore reported at its new path first.
   */
  mayHaveMovedTo(other: TrackedFile): boolean {
    return (
      this.isGone && !other.isGone && other.restedMs !== undefined && other.#noticedMs <= this.#confirmedMs
    );
  }

  get isReady(): boolean {
    return this.#readiness !== "no";
  }

  get isGone(): boolean {
    return this.#stamp === undefined && this.#error === undefined;
  }

  get size(): number {
    return this.#stamp?.size ?? 0;
  }

  /** True if there is no file, and no event of it is due. */
  get isForgotten(): boolean {
    return this.isGone && this.#lastEvent === undefined && this.#restedMs === undefined && !this.isReady;
  }

  /** The next scan reports the content again, even if unchanged. */
  forget(nowMs: number): void {
    if (this.#stamp === undefined) return;
    if (this.#lastEvent !== undefined) this.#lastEvent = toRepeat;
    this.#restedMs ??= nowMs;
  }

  note(found: ScanResult, { beganMs, endedMs, isRescan, areSettled, isRenamed }: Examination): void {
    if (found instanceof Error) {
      this.#error = found;
      this.#restedMs = undefined;
      this.#readiness = "yes";
      return;
    }
    const before = this.#stamp;
    this.#stamp = found;
    const isChanged = !isSameStamp(before, found) || this.#error !== undefined;
    this.#error = undefined;
    if (isChanged) {
      this.#noticedMs = endedMs;
      this.#restedMs = areSettled ? undefined : endedMs + restMs;
      this.#retries = 0;
      // A file that was created has a removal and a creation before its first byte: two events.
      const isReplaced = isRenamed && before?.identity !== found?.identity && (found?.size ?? 0) > 0;
      if (areSettled || leadsElsewhere(before, found)) this.#readiness = "yes";
      else this.#readiness = before !== undefined && isReplaced ? "untouched" : "no";
      return;
    }
    const isRested = this.#restedMs !== undefined && this.#restedMs <= beganMs;
    if (isRescan) this.#rescansToRetry--;
    if (!isRested && this.#rescansToRetry > 0) return;
    this.#restedMs = undefined;
    this.#confirmedMs = endedMs;
    this.#rescansToRetry = Infinity;
    this.#readiness = "yes";
  }

  /** The event that follows from what was noted, if any. @param isTouched true if the path has had an event since the scan */
  async event(nowMs: number, isTouched: () => boolean): Promise<FileEvent | undefined> {
    const mayBeTouched = this.#readiness === "yes";
    this.#readiness = "no";
    if (this.#error !== undefined) return this.#unreadable(this.#error);
    return this.#stamp === undefined
      ? this.#forgetGone()
      : this.#read(this.#stamp, nowMs, () => !mayBeTouched && isTouched());
  }

  /** The listener asked for the event once more. */
  retry(): void {
    this.#rescansToRetry = Math.min(2 ** this.#retries++, mostRescans);
    this.#lastEvent = toRepeat;
  }

  async #read(stamp: FileStamp, nowMs: number, isTouched: () => boolean): Promise<FileEvent | undefined> {
    const { path } = this;
    const { realPath, size } = stamp;
    const noticedMs = this.#noticedMs;
    if (size > this.#maxBytes)
      return this.#once(`too large: ${size}`, { kind: "tooLarge", path, realPath, size, noticedMs });
    try {
      const bytes = await readWholeFile(path, stamp);
      // An event of what was done before the scan looked is here by now: the read has taken turns of the event loop.
      if (bytes !== undefined && !isTouched()) {
        const digest = createHash("sha256").update(bytes).digest("base64");
        const isRetry = this.#retries > 0;
        return this.#once(digest, { kind: "content", path, realPath, bytes, isRetry, noticedMs });
      }
    } catch (error) {
      if (!isNotFound(error)) {
        this.#rescansToRetry = 1;
        return this.#unreadable(toError(error));
      }
    }
    // It was written to or removed since the scan.
    this.#restedMs = nowMs + restMs;
    return undefined;
  }

  #unreadable(error: Error): FileEvent | undefined {
    const code = errorCode(error) ?? "unknown";
    return this.#once(`unreadable: ${code}`, { kind: "unreadable", path: this.path, error });
  }

  #forgetGone(): FileEvent | undefined {
    if (this.#lastEvent === undefined) return undefined;
    this.#lastEvent = undefined;
    return { kind: "gone", path: this.path, noticedMs: this.#noticedMs };
  }

  #once(key: string, event: FileEvent): FileEvent | undefined {
    if (this.#lastEvent === key) return undefined;
    this.#lastEvent = key;
    return event;
  }
}
