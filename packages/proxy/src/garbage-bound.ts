const megabyte = 1024 * 1024;
/** Garbage that may accumulate whatever is in use. */
const slackBytes = 16 * megabyte;
/** What may accumulate beyond that, in relation to what is in use. */
const slackShare = 0.5;
/** What requests and connections may leave behind beyond that: it is charged with more than it takes on the heap. */
const discardedSlackBytes = 24 * megabyte;
/** After a collection that found less, or more, in use than the one before, the next comes at the latest so much later. */
const firstPauseMs = 10_000;
const maxPauseMs = 3_600_000;
/** In use as before, about. */
const sameShare = 0.1;

/**
 * Decides when V8 has to collect. V8 lets garbage grow to several times what is in use, and does not collect while little is allocated, so
 * that the process stays as large as a burst of requests has made it: a heap of 335 MB was measured with 20 MB in use.
 *
 * V8 does not see what node's objects take outside of its heap, 20 KB for a connection, and frees none of them in its frequent, partial
 * collections. Therefore what requests and connections that have ended left behind counts too.
 *
 * Besides, what a collection in the middle of a burst has found in use is garbage after it. So collections are repeated, at longer and longer
 * intervals, until what they find is the same.
 */
export class GarbageBound {
  #liveBytes = 0;
  #discardedBytes = 0;
  #pauseMs = firstPauseMs;
  #dueMs = Infinity;
  #isDue = false;

  /**
   * True while V8 has to collect.
   *
   * @param discardedBytes what requests and connections that have ended left behind since the process began; it may count twice, or be on the heap.
   */
  isExceeded(usedBytes: number, discardedBytes: number, nowMs: number): boolean {
    const slack = this.#liveBytes * slackShare;
    this.#isDue ||=
      usedBytes > this.#liveBytes + slack + slackBytes ||
      discardedBytes > this.#discardedBytes + slack + discardedSlackBytes ||
      nowMs >= this.#dueMs;
    return this.#isDue;
  }

  /** To be called after each full collection, whoever wanted it. */
  collected(usedBytes: number, discardedBytes: number, nowMs: number): void {
    const isSame = Math.abs(usedBytes - this.#liveBytes) < this.#liveBytes * sameShare;
    this.#pauseMs = isSame ? Math.min(2 * this.#pauseMs, maxPauseMs) : firstPauseMs;
    this.#dueMs = nowMs + this.#pauseMs;
    this.#liveBytes = usedBytes;
    this.#discardedBytes = discardedBytes;
    this.#isDue = false;
  }
}
