const megabyte = 1024 * 1024;
/** Garbage that is always allowed, in bytes. */
const slackBytes = 16 * megabyte;
/** Further garbage that is allowed, as a share of the live bytes. */
const slackShare = 0.25;
/** Such a share after a collection that found little garbage, as when thousands of clients connect. */
const growthShare = 1;
/** A collection that leaves at least this share found little garbage. In the middle of a burst it leaves three quarters. */
const growthLeft = 0.85;
/** A collection that is due again within this time means a burst. */
const burstMs = 2_000;
/** Above this many live bytes, a collection in one pause would block the event loop for more than 100 ms. */
const maxPausedBytes = 128 * megabyte;
/** Further allowance for discarded bytes of requests and connections, which are charged with more than their heap. */
const discardedSlackBytes = 24 * megabyte;
/** Time without a collection after which a smaller allowance applies to discarded bytes: these, plus this share of the live ones. */
const pauseMs = 5_000;
const pauseSlackBytes = 4 * megabyte;
const pauseSlackShare = 0.1;

/**
 * Decides when V8 has to collect. V8 lets garbage grow to several times the live bytes, and does not collect while little
 * is allocated. The process then stays as large as a burst of requests has made it: a heap of 335 MB was measured with
 * 20 MB in use.
 *
 * A collection is due if one of these is exceeded since the last one (live bytes = those that it left):
 * - garbage on the heap: `slackBytes`, plus `slackShare` of the live bytes (`growthShare` while the heap grows)
 * - discarded bytes: `discardedSlackBytes`, plus the same share
 * - discarded bytes after `pauseMs`: `pauseSlackBytes`, plus `pauseSlackShare` of the live bytes
 *
 * Discarded bytes are the charges of ended requests and connections. They count because V8 does not see the memory of
 * node's objects outside of its heap, 20 KB per connection, and its frequent partial collections free none of it. The third
 * rule exists because much of what a collection in the middle of a burst found live is garbage some seconds later.
 *
 * Invariant: once due, a collection stays due until `collected` is called.
 */
export class GarbageBound {
  #liveBytes = 0;
  #discardedBytes = 0;
  #collectedMs = 0;
  #slackShare = slackShare;
  /** The largest heap since the last collection, garbage included. */
  #mostBytes = 0;
  #isDue = false;

  /**
   * True while V8 has to collect.
   *
   * @param discardedBytes charges of all requests and connections that ended since the process began. Some bytes may be
   *   counted twice, or lie on the heap.
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
   * True if V8 has to collect at once, in one pause. In a burst, the allowed garbage accumulates again while V8 collects
   * concurrently, and such a collection does not find what becomes garbage meanwhile.
   */
  isOutrun(usedBytes: number, nowMs: number): boolean {
    return (
      nowMs < this.#collectedMs + burstMs &&
      this.#liveBytes <= maxPausedBytes &&
      this.#hasMuchGarbage(usedBytes)
    );
  }

  /** To be called after each full collection, also those that V8 began by itself. */
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
