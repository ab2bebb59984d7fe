/** How long to wait between tries. */
export interface BackoffOptions {
  /** Upper bound of the first wait, in ms. */
  readonly firstMs: number;
  /** Upper bound of any wait, in ms. */
  readonly capMs: number;
  /** How much the bound grows from one try to the next. */
  readonly factor?: number;
  /** A number in [0, 1); injected by tests. */
  readonly random?: () => number;
}

/**
 * Exponential backoff with jitter: the n-th wait is drawn evenly from the upper half of [0, min(cap, first × factor^n)], so that a crowd
 * that lost its server together does not come back together, and nobody retries in a tight loop.
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

  /** To be called after real progress only, or a server that accepts and drops is hammered. */
  reset(): void {
    this.#bound = this.#options.firstMs;
  }
}
