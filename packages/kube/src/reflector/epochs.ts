import { compareResourceVersions } from "./resource-version.js";

/**
 * A period in which resourceVersions only increase. An etcd that is restored from a backup, or wiped, starts again at a lower one:
 * comparing versions from before and after proves nothing.
 */
export type Epoch = number;

/** The state of the epochs at the begin of a consistent read. */
export interface ReadStart {
  readonly epoch: Epoch;
  /** The highest resourceVersion seen by then; undefined if there was none. */
  readonly floor: string | undefined;
}

/**
 * Tracks the epochs of one resource type. A consistent read answers with a resourceVersion at least as high as any that was
 * seen before the read began; a lower one proves that the history was cut. All streams of the type share one instance,
 * because versions belong to the type, not to a stream.
 *
 * An API server that starts on a restored etcd writes a few objects of its own, and may be past the highest version seen by
 * the time of the next read. Then a single object that is older than before proves the cut (`cut`).
 */
export class Epochs {
  readonly #onNewEpoch: (epoch: Epoch) => void;
  #current: Epoch = 1;
  #highest: string | undefined;

  constructor(onNewEpoch: (epoch: Epoch) => void = () => undefined) {
    this.#onNewEpoch = onNewEpoch;
  }

  get current(): Epoch {
    return this.#current;
  }

  /** Call this before a consistent read is requested. */
  beginRead(): ReadStart {
    return { epoch: this.#current, floor: this.#highest };
  }

  /**
   * Completes a read as of this resourceVersion. Returns the read's epoch; undefined if another read opened a new epoch
   * meanwhile: this read may be older than that, proves nothing, and must be repeated.
   */
  completeRead(start: ReadStart, resourceVersion: string): Epoch | undefined {
    if (start.epoch !== this.#current) return undefined;
    if (start.floor !== undefined && compareResourceVersions(resourceVersion, start.floor) < 0) {
      this.#current++;
      this.#highest = resourceVersion;
      this.#onNewEpoch(this.#current);
    } else this.observe(this.#current, resourceVersion);
    return this.#current;
  }

  /** Reports that a consistent read of this epoch found an object older than it was known to be: the history was cut. */
  cut(epoch: Epoch): void {
    if (epoch !== this.#current) return;
    this.#current++;
    this.#highest = undefined;
    this.#onNewEpoch(this.#current);
  }

  /** Reports that a stream of this epoch has reached this resourceVersion. */
  observe(epoch: Epoch, resourceVersion: string): void {
    if (epoch !== this.#current) return;
    if (this.#highest === undefined || compareResourceVersions(resourceVersion, this.#highest) > 0)
      this.#highest = resourceVersion;
  }
}
