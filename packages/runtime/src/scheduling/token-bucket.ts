import { isAborted } from "../aborted.js";
import { sleep, type Clock } from "../clock.js";

export interface Rate {
  /** Tokens at once after a quiet time. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Hands out a burst of tokens, and then so many a second. A token that was not needed may be given back. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #rate: Rate;
  #tokens: number;
  #countedMs: number;

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#countedMs = clock.monotonicMs();
  }

  /** Time until there is a token, in ms; 0 if there is one. */
  get waitMs(): number {
    this.#count();
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) * 1_000) / this.#rate.perSecond);
  }

  /** Takes a token. To be called only while there is one. */
  take(): void {
    this.#tokens--;
  }

  /** Takes a token as soon as there is one. Rejects with the signal's reason. */
  async takeNext(signal: AbortSignal): Promise<void> {
    while (!isAborted(signal) && this.waitMs > 0) await sleep(this.waitMs, signal, this.#clock);
    signal.throwIfAborted();
    this.take();
  }

  giveBack(): void {
    this.#add(1);
  }

  #count(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#add(((nowMs - this.#countedMs) * this.#rate.perSecond) / 1_000);
    this.#countedMs = nowMs;
  }

  #add(tokens: number): void {
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + tokens);
  }
}
