import type { CallEnd } from "@bunting/sync-client";
import { Backoff, type Clock } from "@bunting/runtime";

/**
 * Waits between streams: a quarter of the time that the server has been away, about, so that what changed meanwhile is late by no more, up to 5 s;
 * see Backoff for the jitter.
 */
const retry = { firstMs: 150, capMs: 5_000, factor: 1.25 };
/**
 * Waits while nothing listens at the address, as while the only proxy restarts: a tenth of the time so far, about. An attempt costs a server that
 * is not there nothing, and one that is back gets its agents spread over a tenth of its absence, or over 2 s.
 */
const refusedRetry = { firstMs: 150, capMs: 2_000, factor: 1.08 };
/** The longest wait after a healthy stream: all agents lose theirs together when a proxy restarts. */
const firstRetryMs = 100;
/** The longest wait that a server may ask for. */
const pushbackCapMs = 10_000;
/**
 * How long a stream must last after its first document to be healthy, so that the backoff resets. Otherwise a server that sends a document and ends
 * the stream at once would be called several times a second.
 */
const healthyMs = 10_000;
/** A server may ask for an immediate retry, but not for a tight loop: the least wait grows like the backoff. */
const pushbackFloor = { firstMs: 50, capMs: 1_000 };

/** How long a source waits before it opens its next stream: longer with each that was not healthy, or as long as the server asks for. */
export class StreamWaits {
  readonly #clock: Clock;
  readonly #backoff = new Backoff(retry);
  readonly #refusedBackoff = new Backoff(refusedRetry);
  readonly #pushbackFloor = new Backoff(pushbackFloor);
  /** When the current stream brought its first answer, or the first after its topic was refused. */
  #answeredMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  answered(): void {
    this.#answeredMs ??= this.#clock.monotonicMs();
  }

  /** The wait after this end. To be called at each end: the next stream has to prove itself anew. */
  nextMs({ message, pushbackMs }: Pick<CallEnd, "message" | "pushbackMs">): number {
    const answeredMs = this.#answeredMs;
    this.#answeredMs = undefined;
    const isHealthy = answeredMs !== undefined && this.#clock.monotonicMs() - answeredMs >= healthyMs;
    if (isHealthy) {
      this.#backoff.reset();
      this.#refusedBackoff.reset();
      this.#pushbackFloor.reset();
    }
    const backoff = message.includes("ECONNREFUSED") ? this.#refusedBackoff : this.#backoff;
    const waitMs = isHealthy ? Math.random() * firstRetryMs : backoff.next();
    if (pushbackMs === undefined) return waitMs;
    return Math.min(Math.max(pushbackMs, this.#pushbackFloor.next()), pushbackCapMs);
  }
}
