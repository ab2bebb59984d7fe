import { sleep, type Clock, type Runnable } from "@bunting/runtime";
import type { Lease, OwnerLease } from "./owner-lease.js";

export interface LeaseKeeperOptions {
  readonly ownerLease: Pick<OwnerLease, "acquire" | "renew" | "release">;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** Called when this replica has acquired the lease. */
  readonly onHeld: (lease: Lease) => void;
  /** Called when the lease has ended: write nothing under it any more. */
  readonly onLost: () => void;
}

/** Renewals in the life of a lease, of which all but one may fail. */
const renewalsPerLease = 5;

/**
 * Acquires the lease as soon as it is free, while this replica wants it, and renews it while this replica holds it.
 *
 * Invariants:
 * - The lease is held until `drop`, a failed renewal, or the end of its time; `held` never returns one past its time.
 * - `onHeld` is called for each lease that is acquired, `onLost` for each that ends without `drop`.
 * - Without Redis nothing is renewed: the lease ends by its time.
 */
export class LeaseKeeper implements Runnable {
  readonly name = "lease";
  readonly #options: LeaseKeeperOptions;
  #isWanted = false;
  #held: Lease | undefined;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** The lease if this replica holds it and its time has not ended. */
  get held(): Lease | undefined {
    const lease = this.#held;
    return lease !== undefined && this.#options.clock.monotonicMs() < lease.untilMs ? lease : undefined;
  }

  /** From now on the lease is acquired when it is free. */
  want(): void {
    this.#isWanted = true;
  }

  /** Stops wanting the lease, and releases it if it is held. Rejects without Redis. */
  async drop(): Promise<void> {
    this.#isWanted = false;
    const lease = this.#held;
    this.#held = undefined;
    if (lease !== undefined) await this.#options.ownerLease.release(lease);
  }

  /** Acquires and renews until the signal aborts. A lease that is held then stays held until it is dropped or ends. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, leaseMs } = this.#options;
    while (!signal.aborted) {
      // Without Redis the lease ends by its time.
      await this.tend().catch(() => undefined);
      if (this.#held !== undefined && this.held === undefined) this.#lose();
      await sleep(leaseMs / renewalsPerLease, signal, clock);
    }
  }

  /** Renews the held lease or tries to acquire the wanted one, as `run` does repeatedly. Rejects without Redis. */
  async tend(): Promise<void> {
    const before = this.#held;
    if (before !== undefined) {
      const renewed = await this.#options.ownerLease.renew(before);
      // The lease may have been dropped meanwhile.
      if (this.#held?.fence !== before.fence) return;
      if (renewed !== undefined) {
        this.#held = renewed;
        return;
      }
      this.#lose();
    }
    if (this.#isWanted) await this.#acquire();
  }

  async #acquire(): Promise<void> {
    const { ownerLease, onHeld } = this.#options;
    const acquired = await ownerLease.acquire();
    // Another call may have acquired the lease meanwhile.
    if (acquired === undefined || this.#held?.fence === acquired.fence) return;
    if (this.#isWanted) {
      this.#held = acquired;
      onHeld(acquired);
    } else await ownerLease.release(acquired);
  }

  #lose(): void {
    this.#held = undefined;
    this.#options.onLost();
  }
}
