import { Backoff, type Clock } from "@bunting/runtime";
import type { KubeError } from "../kube-error.js";

const failuresToOpen = 3;
/** Requests at a time while the breaker is open: enough to find out that the API server works again. */
const minSlots = 2;
const backoff = { firstMs: 500, capMs: 5_000 };
const maxRetryAfterMs = 30_000;

/**
 * How many requests an API server may meet at once, by how it answered the last ones.
 *
 *     closed ── three failures in a row ──> open: two requests at a time, with backoff or as long as the server asks
 *        ^                                   │
 *        └── each answer doubles the limit ──┘
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #slots: number;
  readonly #backoff: Backoff;
  #limit: number;
  #failures = 0;
  #failure: KubeError | undefined;
  #notBeforeMs = 0;

  /** @param slots the limit while the breaker is closed */
  constructor(clock: Clock, slots: number, random: (() => number) | undefined) {
    this.#clock = clock;
    this.#slots = this.#limit = slots;
    this.#backoff = new Backoff(random === undefined ? backoff : { ...backoff, random });
  }

  get limit(): number {
    return this.#limit;
  }

  /** Time until the next request may be sent; not above 0 if it may now. */
  get waitMs(): number {
    return this.#notBeforeMs - this.#clock.monotonicMs();
  }

  /** The failure that opened the breaker; undefined while it is closed. */
  get failure(): KubeError | undefined {
    return this.#failures >= failuresToOpen ? this.#failure : undefined;
  }

  /** The API server works. */
  answered(): void {
    this.#limit = Math.min(this.#slots, Math.max(minSlots, this.#limit) * 2);
    this.#failures = 0;
    this.#failure = undefined;
    this.#notBeforeMs = 0;
    this.#backoff.reset();
  }

  failed(error: KubeError): void {
    this.#failures++;
    this.#failure = error;
    if (this.#failures < failuresToOpen) return;
    this.#limit = Math.min(minSlots, this.#slots);
    const retryAfterMs = Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs);
    // Requests that were under way together fail together, which is one failure.
    const waitMs = Math.max(this.waitMs > 0 ? 0 : this.#backoff.next(), retryAfterMs);
    this.#notBeforeMs = Math.max(this.#notBeforeMs, this.#clock.monotonicMs() + waitMs);
  }
}
