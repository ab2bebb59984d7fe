import type { Clock } from "@bunting/runtime";

/** After this time an API server that refused WatchList is asked again: it may have been upgraded. */
const askAgainMs = 10 * 60_000;

/**
 * Whether the API server streams its initial state in a watch (WatchList: on since Kubernetes 1.34, refused by older ones, and
 * where etcd is too old). Shared by all reflectors, so that only the first has to find out.
 */
export class WatchListSupport {
  readonly #clock: Clock;
  #refusedMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isTried(): boolean {
    return this.#refusedMs === undefined || this.#clock.monotonicMs() - this.#refusedMs >= askAgainMs;
  }

  refused(): void {
    this.#refusedMs = this.#clock.monotonicMs();
  }

  granted(): void {
    this.#refusedMs = undefined;
  }
}
