import { createHash } from "node:crypto";
import type { FileEvent } from "./file-event.js";
import { errorCode, isAbsence, isSameStamp, leadsElsewhere, toError, type FileStamp } from "./file-stamp.js";
import { readWholeFile } from "./read-whole-file.js";

/** How long size and times must not have moved before a file is read; absence must last as long. */
export const restMs = 25;

/** How often a listener may ask for the same content again. */
const maxRetries = 2;

/** What a look found: a regular file, nothing, or that the file system can't tell. */
export type Found = FileStamp | Error | undefined;

/**
 * One path at which a file is or was.
 *
 * A half-written manifest often still parses, with fewer flags. So every change starts a rest, and the file is read once it has rested.
 * Only where a link on the path was swapped is the file read at once (and after the rest, like any other). Absence rests too: a file
 * that is removed and written anew, as some editors do, has changed and was not deleted.
 */
export class TrackedFile {
  readonly path: string;
  readonly #maxBytes: number;
  #stamp: FileStamp | undefined;
  #noticedMs = 0;
  #restedMs: number | undefined;
  /** Stands for the last event; undefined if there was none, or the file is gone. */
  #told: string | undefined;
  #failure: string | undefined;
  #isToRetry = false;
  #retries = 0;

  constructor(path: string, maxBytes: number) {
    this.path = path;
    this.#maxBytes = maxBytes;
  }

  /** When the rest of the file ends; undefined if it does not rest. */
  get restedMs(): number | undefined {
    return this.#restedMs;
  }

  /** True if there is no file, and no event of it is to come. */
  get isNothing(): boolean {
    return this.#stamp === undefined && this.#told === undefined && this.#restedMs === undefined;
  }

  /** Where the bytes were at the last look, if the path is a symbolic link. */
  get linkTarget(): string | undefined {
    return this.#stamp?.isLink === true ? this.#stamp.realPath : undefined;
  }

  /** The next look tells the content again, even if it is the one that was told last. */
  forget(nowMs: number): void {
    if (this.#stamp === undefined) return;
    this.#told = undefined;
    this.#restedMs ??= nowMs;
  }

  /** Takes in what a look found; returns the event that follows from it, if any. */
  async look(found: Found, nowMs: number, isRescan: boolean): Promise<FileEvent | undefined> {
    if (found instanceof Error) return this.#fail(found);
    const before = this.#stamp;
    this.#stamp = found;
    const isChanged = !isSameStamp(before, found) || this.#failure !== undefined;
    this.#failure = undefined;
    if (isChanged) {
      this.#noticedMs = nowMs;
      this.#restedMs = nowMs + restMs;
      this.#retries = 0;
      return leadsElsewhere(before, found) ? this.#read(found, nowMs) : undefined;
    }
    const isRested = this.#restedMs !== undefined && this.#restedMs <= nowMs;
    if (!isRested && !(this.#isToRetry && isRescan)) return undefined;
    this.#restedMs = undefined;
    this.#isToRetry = false;
    return found === undefined ? this.#forgetGone() : this.#read(found, nowMs);
  }

  /** The listener asked for the event once more. */
  retry(): void {
    if (this.#retries === maxRetries) return;
    this.#retries++;
    this.#told = undefined;
    this.#isToRetry = true;
  }

  async #read(stamp: FileStamp | undefined, nowMs: number): Promise<FileEvent | undefined> {
    if (stamp === undefined) return undefined;
    const { path } = this;
    const { realPath, size } = stamp;
    const noticedMs = this.#noticedMs;
    if (size > this.#maxBytes) {
      return this.#once(`too large: ${size}`, { kind: "tooLarge", path, realPath, size, noticedMs });
    }
    try {
      const bytes = await readWholeFile(path, stamp);
      if (bytes !== undefined) {
        const digest = createHash("sha256").update(bytes).digest("base64");
        const isRetry = this.#retries > 0;
        return this.#once(digest, { kind: "content", path, realPath, bytes, isRetry, noticedMs });
      }
    } catch (error) {
      if (!isAbsence(error)) {
        this.#isToRetry = true;
        return this.#unreadable(toError(error));
      }
    }
    // It was written to or taken away since the look.
    this.#restedMs = nowMs + restMs;
    return undefined;
  }

  #fail(error: Error): FileEvent | undefined {
    this.#restedMs = undefined;
    this.#failure = errorCode(error) ?? "unknown";
    return this.#unreadable(error);
  }

  #unreadable(error: Error): FileEvent | undefined {
    const code = errorCode(error) ?? "unknown";
    return this.#once(`unreadable: ${code}`, { kind: "unreadable", path: this.path, error });
  }

  #forgetGone(): FileEvent | undefined {
    if (this.#told === undefined) return undefined;
    this.#told = undefined;
    return { kind: "gone", path: this.path, noticedMs: this.#noticedMs };
  }

  #once(key: string, event: FileEvent): FileEvent | undefined {
    if (this.#told === key) return undefined;
    this.#told = key;
    return event;
  }
}
