import { fstatSync, writeSync } from "node:fs";
import { errorCode } from "./error-code.js";

/** The most that waits for the reader of a pipe: beyond it, lines are lost. */
const maxUnreadBytes = 256 * 1_024;
const stderr = 2;
/** How often a pipe is tried that was full, in ms, and how many times by a process that ends. */
const lookMs = 50;
const lastLooks = 20;

/**
 * Stderr as the place of a log. Nobody may read it, and the disk that it goes to may be full: a service loses lines then, and neither waits nor ends.
 * What can be written is written at once. A process that ends, be it by an error, gives a slow reader a moment for the rest.
 */
export class LogOutput {
  readonly #onLost: (lines: number) => void;
  /** Lines that wait for the reader. A part of the first may be written. */
  readonly #unread: Buffer[] = [];
  #unreadBytes = 0;
  #lost = 0;
  #look: NodeJS.Timeout | undefined;

  /** @param onLost called once lines can be written again, with the number of those that were lost */
  constructor(onLost: (lines: number) => void) {
    this.#onLost = onLost;
    const stats = fstatSync(stderr);
    // From when node has made its stream of it, a write to a full pipe fails instead of blocking.
    if (stats.isFIFO() || stats.isSocket()) process.stderr.on("error", () => undefined);
    // That is before node prints the error, for which it does not wait either.
    process.on("uncaughtExceptionMonitor", () => this.#finish());
    process.on("exit", () => this.#finish());
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    const isFull = (): boolean =>
      this.#unread.length > 0 && this.#unreadBytes + bytes.length > maxUnreadBytes;
    if (isFull()) this.#flush();
    if (isFull()) {
      this.#lost++;
      return;
    }
    this.#unread.push(bytes);
    this.#unreadBytes += bytes.length;
    this.#flush();
  }

  #flush(): void {
    try {
      for (let first = this.#unread[0]; first !== undefined; first = this.#unread[0]) {
        const written = writeSync(stderr, first);
        this.#unreadBytes -= written;
        if (written === first.length) this.#unread.shift();
        else this.#unread[0] = first.subarray(written);
      }
    } catch (error) {
      if (errorCode(error) === "EAGAIN") {
        this.#look ??= setTimeout(() => {
          this.#look = undefined;
          this.#flush();
        }, lookMs).unref();
        return;
      }
      // The reader has gone, or the disk is full.
      this.#lost += this.#unread.splice(0).length;
      this.#unreadBytes = 0;
      return;
    }
    if (this.#lost > 0) this.#tell();
  }

  #tell(): void {
    const lost = this.#lost;
    this.#lost = 0;
    this.#onLost(lost);
    // What tells of it may be lost as well.
    if (this.#lost > 0) this.#lost = lost;
  }

  /** Waits once more after the rest is written, so that there is room for what node prints. */
  #finish(): void {
    for (let looks = 0; this.#unread.length > 0 && looks < lastLooks; looks++) {
      this.#flush();
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lookMs);
    }
  }
}
