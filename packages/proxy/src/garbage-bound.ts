const megabyte = 1024 * 1024;
/** Garbage that may accumulate whatever is in use. */
const slackBytes = 48 * megabyte;
/** How many times a collection is waited for before all that is there counts as in use. */
const patience = 10;

/**
 * Decides when V8 has to collect. V8 lets garbage grow to several times what is in use, and does not collect while little is allocated, so
 * that the process stays as large as a burst of requests has made it: a heap of 335 MB was measured with 20 MB in use.
 */
export class GarbageBound {
  #liveBytes = 0;
  #fromBytes = 0;
  #waited = 0;

  /** To be called once a second. True while V8 has to collect. */
  isExceeded(usedBytes: number): boolean {
    if (this.#waited === 0) {
      if (usedBytes <= 2 * this.#liveBytes + slackBytes) return false;
      this.#fromBytes = usedBytes;
    } else if (usedBytes < 0.75 * this.#fromBytes || this.#waited === patience) {
      this.#liveBytes = usedBytes;
      this.#waited = 0;
      return false;
    }
    this.#waited++;
    return true;
  }
}
