const megabyte = 1024 * 1024;
/** Garbage that may accumulate whatever is in use. */
const slackBytes = 16 * megabyte;
/** What may accumulate beyond that, in relation to what is in use. */
const slackShare = 0.25;
/** The same after a collection that found little garbage: as when thousands of clients connect. */
const growthShare = 1;
/** What is left by a collection that found little garbage, at least. In the middle of a burst three quarters are left. */
const growthLeft = 0.85;
/** A burst is when V8 has to collect again so soon. */
const burstMs = 2_000;
/** Where more is in use, collecting at once would hold everything up for longer than 100 ms. */
const maxPausedBytes = 128 * megabyte;
/** What requests and connections may leave behind beyond that: it is charged with more than it takes on the heap. */
const discardedSlackBytes = 24 * megabyte;
/** A pause in which this much was left behind, and this part of what is in use, ends with a collection. */
const pauseMs = 5_000;
const pauseSlackBytes = 4 * megabyte;
const pauseSlackShare = 0.1;

/**
 * Decides when V8 has to collect. V8 lets garbage grow to several times what is in use, and does not collect while little is allocated, so
 * that the process stays as large as a burst of requests has made it: a heap of 335 MB was measured with 20 MB in use.
 *
 * V8 does not see what node's objects take outside of its heap, 20 KB for a connection, and frees none of them in its frequent, partial
 * collections. Therefore what requests and connections that have ended left behind counts too.
 *
 * Much of what a collection in the middle of a burst has found in use is garbage after it. So there is a collection some seconds later, too.
 */
export class GarbageBound {
  #liveBytes = 0;
  #discardedBytes = 0;
  #collectedMs = 0;
  #slackShare = slackShare;
  /** The most that was in use since the last collection, garbage included. */
  #mostBytes = 0;
  #isDue = false;

  /**
   * True while V8 has to collect.
   *
   * @param discardedBytes what requests and connections that have ended left behind since the process began; it may count twice, or be on the heap.
   */
  isExceeded(usedBytes: number, discardedBytes: number, nowMs: number): boolean {
    const discarded = discardedBytes - this.#discardedBytes;
    const slack = this.#liveBytes * this.#slackShare;
    this.#mostBytes = Math.max(this.#mostBytes, usedBytes);
    this.#isDue ||=
      this.#hasMuchGarbage(usedBytes) ||
      discarded > slack + discardedSlackBytes ||
      (discarded > this.#liveBytes * pauseSlackShare + pauseSlackBytes &&
        nowMs >= this.#collectedMs + pauseMs);
    return this.#isDue;
  }

  /**
   * True if V8 has to collect at once, in one pause: in a burst, as much garbage as was allowed accumulates again while V8 collects beside the
   * program, and what became garbage meanwhile is not found.
   */
  isOutrun(usedBytes: number, nowMs: number): boolean {
    return (
      nowMs < this.#collectedMs + burstMs &&
      this.#liveBytes <= maxPausedBytes &&
      this.#hasMuchGarbage(usedBytes)
    );
  }

  /** To be called after each full collection, whoever wanted it. */
  collected(usedBytes: number, discardedBytes: number, nowMs: number): void {
    this.#collectedMs = nowMs;
    this.#slackShare = usedBytes < this.#mostBytes * growthLeft ? slackShare : growthShare;
    this.#mostBytes = 0;
    this.#liveBytes = usedBytes;
    this.#discardedBytes = discardedBytes;
    this.#isDue = false;
  }

  #hasMuchGarbage(usedBytes: number): boolean {
    return usedBytes > this.#liveBytes * (1 + this.#slackShare) + slackBytes;
  }
}
