/** Waits between attempts. */
export interface BackoffOptions {
  /** Upper bound of the first wait, in ms. */
  readonly firstMs: number;
  /** Upper bound of any wait, in ms. */
  readonly capMs: number;
  /** By how much the bound grows from one attempt to the next; default 2. */
  readonly factor?: number;
  /** A number in [0, 1); replaced by tests. */
  readonly random?: () => number;
}

/**
 * Exponential backoff with jitter: the n-th wait is drawn evenly from the upper half of [0, min(cap, first × factor^n)], so that clients
 * which lost their server at the same time do not reconnect at the same time, and no client retries in a tight loop.
 */
export class Backoff {
  readonly #options: Required<BackoffOptions>;
  #bound: number;

  constructor(options: BackoffOptions) {
    this.#options = { factor: 2, random: Math.random, ...options };
    this.#bound = options.firstMs;
  }

  /** The next wait in ms. */
  next(): number {
    const bound = this.#bound;
    this.#bound = Math.min(this.#options.capMs, bound * this.#options.factor);
    return bound * (0.5 + 0.5 * this.#options.random());
  }

  /** Call it only after real progress, or a server that accepts and then drops connections is hammered. */
  reset(): void {
    this.#bound = this.#options.firstMs;
  }
}
