import type { Clock } from "@bunting/runtime";

/** Time after which WatchList is tried again: the API server may have been upgraded. */
const retryAfterMs = 10 * 60_000;

/**
 * Remembers whether the API server supports WatchList, the streaming of the initial state in a watch: on since Kubernetes
 * 1.34, refused by older ones and where etcd is too old. All reflectors share it, so that only the first has to find out.
 */
export class WatchListSupport {
  readonly #clock: Clock;
  #refusedMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isTried(): boolean {
    return this.#refusedMs === undefined || this.#clock.monotonicMs() - this.#refusedMs >= retryAfterMs;
  }

  refused(): void {
    this.#refusedMs = this.#clock.monotonicMs();
  }

  granted(): void {
    this.#refusedMs = undefined;
  }
}
