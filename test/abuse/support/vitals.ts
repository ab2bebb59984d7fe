import { rssBytes } from "../../cluster/support/rss-bytes.js";

const sampleMs = 50;

/** Watches the resident memory of a process while it is attacked. */
export class Vitals {
  readonly #pid: number;
  readonly #timer: NodeJS.Timeout;
  readonly #idleBytes: number;
  #peakBytes: number;

  /** Starts to watch; what the process has now counts as idle. Call `stop` afterwards. */
  constructor(pid: number) {
    this.#pid = pid;
    this.#idleBytes = this.#rssBytes();
    this.#peakBytes = this.#idleBytes;
    this.#timer = setInterval(() => this.#sample(), sampleMs);
  }

  /** How far the process has been above idle at most, in bytes. */
  get peakGrowthBytes(): number {
    this.#sample();
    return this.#peakBytes - this.#idleBytes;
  }

  /** How far the process is above idle now, in bytes. */
  get growthBytes(): number {
    return this.#rssBytes() - this.#idleBytes;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    const now = this.#rssBytes();
    if (!(now <= this.#peakBytes)) this.#peakBytes = now;
  }

  /** NaN, which fails every comparison, once the process has ended: why it did is for the test to say. */
  #rssBytes(): number {
    try {
      return rssBytes(this.#pid);
    } catch {
      return Number.NaN;
    }
  }
}
