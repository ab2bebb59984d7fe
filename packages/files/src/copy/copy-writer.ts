import type { Clock } from "@bunting/runtime";
import type { DocumentCopy, EncodedVersion } from "./copy-file.js";

export interface CopyWriterOptions<Version extends EncodedVersion> {
  readonly file: {
    write(copy: DocumentCopy<Version>): Promise<unknown>;
    remove(): Promise<void>;
  };
  readonly clock: Clock;
  /** Called after each write and removal, with the error if it failed. */
  readonly onDone: (error?: unknown) => void;
  /** What failed is tried again, until it is done or replaced, if there is room to keep it. */
  readonly failed: FailedCopies;
}

/** A budget for the bytes of copies that could not be written, and wait to be: of all writers that share it. */
export class FailedCopies {
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = Infinity) {
    this.#mostBytes = mostBytes;
  }

  /** Whether there is room for so many bytes, which are counted then, until they are given back. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#mostBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** In a burst of updates the file is written once per interval: the first at once, then the newest. */
const minIntervalMs = 1_000;
/** What failed is tried again after the interval, then after twice as long, up to this. */
const maxRetryMs = 30_000;

/** Writes the newest document of one source to its file. */
export class CopyWriter<Version extends EncodedVersion> {
  readonly #options: CopyWriterOptions<Version>;
  /** Makes the newest copy that is not on disk yet, or "none" to delete the file. */
  #pending: (() => DocumentCopy<Version>) | "none" | undefined;
  #writing: Promise<void> | undefined;
  /** Cancels the pause before the next write. */
  #cancel: (() => void) | undefined;
  /** Writes that failed in a row. */
  #failures = 0;
  /** Counted among the failed copies, for the pending one. */
  #failedBytes = 0;

  constructor(options: CopyWriterOptions<Version>) {
    this.#options = options;
  }

  /** Schedules the newest copy, or the deletion of the file. */
  write(pending: (() => DocumentCopy<Version>) | "none"): void {
    this.#take();
    this.#pending = pending;
    if (this.#writing === undefined && this.#cancel === undefined) this.#write();
  }

  /** Resolves when everything scheduled is on disk, or was tried once more, and no write will follow. */
  async flush(): Promise<void> {
    let hasTried = false;
    for (;;) {
      // A write that is under way starts the pause before the next one, so the pause is cancelled after it.
      await this.#writing;
      this.#cancel?.();
      this.#cancel = undefined;
      // Another flush may have begun to write meanwhile.
      if (this.#writing !== undefined) continue;
      if (this.#pending === undefined) return;
      if (hasTried && this.#failures > 0) {
        this.#take();
        return;
      }
      hasTried = true;
      this.#write();
    }
  }

  #write(): void {
    this.#writing = this.#writePending().then(() => {
      this.#writing = undefined;
      const waitMs = Math.min(minIntervalMs * 2 ** this.#failures, maxRetryMs);
      this.#cancel = this.#options.clock.after(waitMs, () => {
        this.#cancel = undefined;
        if (this.#pending !== undefined) this.#write();
      });
    });
  }

  async #writePending(): Promise<void> {
    const pending = this.#take();
    if (pending === undefined) return;
    const { file, onDone } = this.#options;
    let failing: DocumentCopy<Version> | "none" | undefined;
    try {
      failing = pending === "none" ? pending : pending();
      if (failing === "none") await file.remove();
      else await file.write(failing);
    } catch (error) {
      if (failing !== undefined) this.#keep(failing);
      onDone(error);
      return;
    }
    this.#failures = 0;
    onDone();
  }

  /** Returns the pending copy. None is pending afterwards. */
  #take(): (() => DocumentCopy<Version>) | "none" | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    this.#options.failed.giveBack(this.#failedBytes);
    this.#failedBytes = 0;
    return pending;
  }

  /** Keeps what failed to be tried again, as its bytes: what they were made of takes several times as much. */
  #keep(copy: DocumentCopy<Version> | "none"): void {
    const { failed } = this.#options;
    this.#failures = Math.min(this.#failures + 1, 10);
    const bytes = copy === "none" ? 0 : copy.bytes.length;
    if (this.#pending !== undefined || !failed.take(bytes)) return;
    this.#failedBytes = bytes;
    this.#pending = copy === "none" ? copy : () => copy;
  }
}
