/** How many PING and SETTINGS frames a peer may send at once, and how many a second beyond that, that answer nothing of ours. */
const burst = 100;
const perSecond = 10;
/** More than the answers to a few PINGs: then something else was sent as well. */
const answerBytes = 64;

/**
 * Tells a flood of PING or SETTINGS frames from a client's keepalive. nghttp2 ends a peer only that does not read the answers; one
 * that reads them could keep the process busy for ever. A client that measures its bandwidth (grpc-go) sends a PING for nearly every DATA
 * frame it gets, as often as it gets them: those that follow something that was sent to it do not count.
 */
export class FloodGuard {
  #left = burst;
  #countedMs: number;
  #sentBytes = 0;

  constructor(nowMs: number) {
    this.#countedMs = nowMs;
  }

  /** Counts one such frame; true if it was one too many. `sentBytes`: how many bytes the connection has sent so far. */
  isFlood(sentBytes: number, nowMs: number): boolean {
    const isAnswer = sentBytes - this.#sentBytes > answerBytes;
    this.#sentBytes = sentBytes;
    if (isAnswer) return false;
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#countedMs) * perSecond) / 1_000);
    this.#countedMs = nowMs;
    if (this.#left < 1) return true;
    this.#left--;
    return false;
  }
}
