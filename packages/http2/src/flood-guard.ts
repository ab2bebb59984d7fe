/** PING and SETTINGS frames that a peer may send at once, and per second after that. */
const burst = 100;
const perSecond = 10;
/** More bytes than the answers to a few PINGs: so something else was sent as well. */
const answerBytes = 64;

/**
 * Distinguishes a flood of PING or SETTINGS frames from a client's keepalive: a peer that reads the answers could keep the process busy for ever. A client that measures its bandwidth (grpc-go) sends a PING for
 * nearly every DATA frame it gets, so PINGs that follow something we sent do not count.
 */
export class FloodGuard {
  #left = burst;
  #countedMs: number;
  #sentBytes = 0;

  constructor(nowMs: number) {
    this.#countedMs = nowMs;
  }

  /** Counts one such frame; true if it exceeds the limit. `sentBytes`: how many bytes we have sent on the connection so far. */
  isFlood(sentBytes: number, nowMs: number): boolean {
    const isAnswer = sentBytes - this.#sentBytes > answerBytes;
    this.#sentBytes = sentBytes;
    return !isAnswer && this.count(nowMs);
  }

  /** Counts such a frame, whatever was sent before. */
  count(nowMs: number): boolean {
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#countedMs) * perSecond) / 1_000);
    this.#countedMs = nowMs;
    if (this.#left < 1) return true;
    this.#left--;
    return false;
  }
}
