import type { Clock } from "@bunting/runtime";
import { classifyChange, restMs, type Change } from "./classify-change.js";
import { drainEvents } from "./drain-events.js";
import type { FileNews } from "./file-news.js";
import { errorCode, isAbsence, readStamp, type FileStamp } from "./file-stamp.js";
import { OneAtATime } from "./one-at-a-time.js";
import { readWholeFile } from "./read-whole-file.js";

export interface WatchedFileOptions {
  readonly clock: Clock;
  /** A larger file is not read. */
  readonly maxBytes: number;
  /** Where the directory of the file really is, links followed. */
  realDirectory(): string;
  /** Told one after the other; the file is not looked at again before the promise resolves. */
  tell(news: FileNews): Promise<void>;
  /** Asked before a file is told gone: false if that proves nothing, since the root is gone too. */
  mayBeGone(): Promise<boolean>;
}

/** While a file is being written, it is looked at no more often than this. */
const lookEveryMs = 5;

/** How often a look is repeated at once since an event came in while it was taken. */
const maxLooks = 10;

/**
 * One path at which a file is, was or may be. Its directory notes the events and asks for looks; each look compares what is there
 * with the look before (classify-change.ts says how) and either reads the file at once, or starts a rest and reads it after that.
 *
 * Absence rests as well: a file that is removed and written anew, as some editors do, is a change of content and not a deletion.
 */
export class WatchedFile {
  readonly path: string;
  readonly #options: WatchedFileOptions;
  readonly #looking = new OneAtATime(() => this.#run());
  #seen: FileStamp | undefined;
  #hasLooked = false;
  #renames = 0;
  #changes = 0;
  #noticedMs = 0;
  /** Set while the file is at rest but not yet for long enough; its content or absence counts then. */
  #restingSinceMs: number | undefined;
  #timer: { readonly dueMs: number; readonly cancel: () => void } | undefined;
  /** True from the first news until the file was told gone. */
  #isKnown = false;
  /** Why the file system could not tell or read it last time, as it was told. */
  #trouble: { readonly code: string; readonly while: "looking" | "reading" } | undefined;
  #isClosed = false;
  #resolveOutcome!: () => void;
  /** Resolves once it is known, for the first time, what is at this path. */
  readonly outcome = new Promise<void>((resolve) => {
    this.#resolveOutcome = resolve;
  });

  constructor(path: string, options: WatchedFileOptions) {
    this.path = path;
    this.#options = options;
  }

  /** True if there is nothing at the path and nobody was told otherwise. */
  get isNothing(): boolean {
    const isPending = this.#restingSinceMs !== undefined || this.#renames + this.#changes > 0;
    return this.#hasLooked && !this.#isKnown && this.#seen === undefined && !isPending;
  }

  /** True if the last look found a symbolic link. */
  get isLink(): boolean {
    return this.#seen?.isLink === true;
  }

  /** Where the bytes were at the last look; undefined if nothing was there or the path is no link. */
  get linkTarget(): string | undefined {
    return this.#seen?.isLink === true ? this.#seen.realPath : undefined;
  }

  /** An event came for this name. */
  note(kind: "rename" | "change", noticedMs: number): void {
    this.#noticedMs = noticedMs;
    if (kind === "rename") this.#renames++;
    // Elsewhere the kernel merges events of different kinds, so that they prove nothing: treat them all as writing.
    if (kind === "change" || process.platform !== "linux") this.#changes++;
    if (kind === "change" && this.#restingSinceMs !== undefined) this.#lookWithin(lookEveryMs);
    else void this.#looking.request();
  }

  /** Events may have been missed, so that nothing may be concluded from the others: the file is read again after a rest. */
  doubt(): void {
    this.#changes++;
    void this.#looking.request();
  }

  /** Looks whether anything changed. Resolves when that is known and, if it could be read at once, told. */
  examine(noticedMs: number): Promise<void> {
    if (this.#renames + this.#changes === 0) this.#noticedMs = noticedMs;
    return this.#looking.request();
  }

  /** Tells nothing any more; resolves when the last look has ended. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#resolveOutcome();
    return this.#looking.idle();
  }

  async #run(): Promise<void> {
    if (this.#isClosed) return;
    let change: Change;
    try {
      change = await this.#look();
    } catch (error) {
      await this.#tellUnreadable(error, "looking");
      return;
    }
    switch (change) {
      case "none":
        if (this.#restingSinceMs !== undefined) await this.#goOnResting(this.#restingSinceMs);
        else if (this.#trouble !== undefined) await this.#read();
        break;
      case "whole":
        await this.#read();
        break;
      case "writing":
      case "absent":
        this.#rest();
        break;
    }
    if (this.isNothing) this.#resolveOutcome();
  }

  async #look(): Promise<Change> {
    for (let looks = 1; ; looks++) {
      const events = { renames: this.#renames, changes: this.#changes };
      const before = this.#seen;
      const after = await readStamp(this.path, this.#options.realDirectory());
      const look = { before, after, events, nowMs: this.#options.clock.now() };
      if (classifyChange(look) !== "none") await drainEvents();
      const isComplete = this.#renames === events.renames && this.#changes === events.changes;
      if (!isComplete && looks < maxLooks) continue;
      this.#seen = after;
      this.#hasLooked = true;
      this.#renames = 0;
      // An event that can't be placed before or after this look must not be taken for a proof by the next.
      this.#changes = isComplete ? 0 : 1;
      const couldNotLook = this.#trouble?.while === "looking";
      if (couldNotLook) this.#trouble = undefined;
      if (!isComplete) return "writing";
      const change = classifyChange(look);
      if (change !== "none" || this.#restingSinceMs !== undefined) return change;
      if (after === undefined) return this.#isKnown ? "absent" : "none";
      return couldNotLook ? "writing" : "none";
    }
  }

  #rest(): void {
    this.#restingSinceMs = this.#options.clock.monotonicMs();
    this.#lookWithin(restMs);
  }

  async #goOnResting(sinceMs: number): Promise<void> {
    const leftMs = sinceMs + restMs - this.#options.clock.monotonicMs();
    if (leftMs > 0) this.#lookWithin(leftMs);
    else if (this.#seen !== undefined) await this.#read();
    else await this.#forget();
  }

  async #read(): Promise<void> {
    const stamp = this.#seen;
    if (stamp === undefined) return;
    this.#restingSinceMs = undefined;
    const { path } = this;
    const { realPath, size } = stamp;
    const noticedMs = this.#noticedMs;
    if (size > this.#options.maxBytes) {
      await this.#tell({ kind: "tooLarge", path, realPath, size, noticedMs });
      return;
    }
    let bytes: Buffer | undefined;
    try {
      bytes = await readWholeFile(path, stamp);
    } catch (error) {
      if (!isAbsence(error)) {
        await this.#tellUnreadable(error, "reading");
        return;
      }
    }
    if (bytes === undefined || this.#changes > 0) {
      this.#rest();
      return;
    }
    this.#trouble = undefined;
    await this.#tell({ kind: "content", path, realPath, bytes, noticedMs });
  }

  async #forget(): Promise<void> {
    this.#restingSinceMs = undefined;
    if (!this.#isKnown || !(await this.#options.mayBeGone())) return;
    await this.#tell({ kind: "gone", path: this.path, noticedMs: this.#noticedMs });
  }

  async #tell(news: FileNews): Promise<void> {
    if (this.#isClosed) return;
    this.#isKnown = news.kind !== "gone";
    await this.#options.tell(news);
    this.#resolveOutcome();
  }

  /** Told once, however often it is tried again. */
  async #tellUnreadable(error: unknown, during: "looking" | "reading"): Promise<void> {
    const code = errorCode(error) ?? "unknown";
    const wasTold = code === this.#trouble?.code;
    this.#trouble = { code, while: during };
    if (wasTold) return;
    const reason = error instanceof Error ? error : new Error(String(error));
    await this.#tell({ kind: "unreadable", path: this.path, error: reason });
  }

  #lookWithin(delayMs: number): void {
    if (this.#isClosed) return;
    const { clock } = this.#options;
    const dueMs = clock.monotonicMs() + delayMs;
    if (this.#timer !== undefined) {
      if (this.#timer.dueMs <= dueMs) return;
      this.#timer.cancel();
    }
    const cancel = clock.after(delayMs, () => {
      this.#timer = undefined;
      void this.#looking.request();
    });
    this.#timer = { dueMs, cancel };
  }
}
