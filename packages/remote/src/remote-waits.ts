import { Backoff } from "@bunting/runtime";

const retryFirstMs = 1_000;
const retryCapMs = 60_000;
/** Who is refused asks from once a minute on, less and less often: some servers lock callers out who insist. */
const refusedFirstMs = 60_000;
const refusedCapMs = 15 * 60_000;
/** The longest wait that a server may ask for. */
const retryAfterCapMs = 3_600_000;

/** How long a reader waits after failures: less than the interval, unless it is refused, or asked to wait. */
export class RemoteWaits {
  readonly #retry: Backoff;
  readonly #refused: Backoff;

  constructor(intervalMs: number, random: () => number) {
    const firstMs = Math.min(retryFirstMs, intervalMs);
    this.#retry = new Backoff({ firstMs, capMs: Math.min(retryCapMs, intervalMs), random });
    // Twice the wait, because the backoff takes from a half of it on.
    this.#refused = new Backoff({ firstMs: 2 * refusedFirstMs, capMs: 2 * refusedCapMs, random });
  }

  /** The remote has answered. */
  reset(): void {
    this.#retry.reset();
    this.#refused.reset();
  }

  /** @param askedMs what the server asks its client to wait */
  next(isRefused: boolean, askedMs = 0): number {
    const waitMs = isRefused ? this.#refused.next() : this.#retry.next();
    return Math.max(waitMs, Math.min(askedMs, retryAfterCapMs));
  }
}
