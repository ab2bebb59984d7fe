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
  /** Tries what failed again, until it is done or replaced: for a few files, because each retry costs as much as a write. */
  readonly retries?: boolean;
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

  constructor(options: CopyWriterOptions<Version>) {
    this.#options = options;
  }

  /** Schedules the newest copy, or the deletion of the file. */
  write(pending: (() => DocumentCopy<Version>) | "none"): void {
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
      if (this.#pending === undefined || (hasTried && this.#failures > 0)) return;
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
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    const { file, onDone, retries = false } = this.#options;
    try {
      if (pending === "none") await file.remove();
      else await file.write(pending());
    } catch (error) {
      if (retries) {
        this.#failures = Math.min(this.#failures + 1, 10);
        this.#pending ??= pending;
      }
      onDone(error);
      return;
    }
    this.#failures = 0;
    onDone();
  }
}
