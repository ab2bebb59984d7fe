import { sleep, type Clock, type Runnable } from "@bunting/runtime";
import type { Lease, Leases, Renewed } from "./leases.js";

export interface LeaseKeeperOptions {
  readonly leases: Pick<Leases, "acquire" | "renew" | "release">;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** Called when this replica has got the lease, or has it under a new fencing number. */
  readonly onHeld: (lease: Lease) => void;
  /** Called when the lease has ended: write nothing under it any more. */
  readonly onLost: (name: string) => void;
  /** Called with each renewal while another replica, which is ready to take over, requests the lease. */
  readonly onHandOverRequested: (lease: Lease, by: string) => void;
}

/** Renewals in the life of a lease, of which all but one may fail. */
const renewalsPerLease = 5;

/**
 * Acquires the leases that this replica wants as soon as they are free, and renews the leases that it holds.
 *
 * Invariants:
 * - A lease is held until `drop`, a failed renewal, or the end of its time; `held` never returns one past its time.
 * - `onHeld` is called for each lease that is acquired, `onLost` for each that ends without `drop`.
 * - Without Redis nothing is renewed: leases end by their time.
 */
export class LeaseKeeper implements Runnable {
  readonly name = "leases";
  readonly #options: LeaseKeeperOptions;
  /** Wanted leases; true if the holder is asked to hand it over. */
  readonly #wanted = new Map<string, boolean>();
  readonly #held = new Map<string, Lease>();

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** The lease if this replica holds it and its time has not ended. */
  held(name: string): Lease | undefined {
    const lease = this.#held.get(name);
    return lease !== undefined && this.#options.clock.monotonicMs() < lease.untilMs ? lease : undefined;
  }

  /**
   * Acquires a lease when it is free.
   *
   * @param requestsHandOver whether to ask the holder for the lease; true only once this replica is ready to take over
   */
  want(name: string, requestsHandOver: boolean): void {
    this.#wanted.set(name, requestsHandOver);
  }

  /** Stops wanting a lease, and releases it if it is held and was not handed over. Rejects without Redis. */
  async drop(name: string): Promise<void> {
    this.#wanted.delete(name);
    const lease = this.#held.get(name);
    this.#held.delete(name);
    if (lease !== undefined) await this.#options.leases.release(lease);
  }

  /** Replaces a held lease by the one that `Leases.advance` returned. */
  replace(lease: Lease): void {
    if (this.#held.has(lease.name)) this.#held.set(lease.name, lease);
  }

  /** Acquires and renews until the signal aborts. Leases that are held then stay held until they are dropped or end. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, leaseMs } = this.#options;
    while (!signal.aborted) {
      // Without Redis leases end by their time.
      await this.tend().catch(() => undefined);
      this.#expire();
      await sleep(leaseMs / renewalsPerLease, signal, clock);
    }
  }

  /** Renews the held leases and tries to acquire the wanted ones, as `run` does repeatedly. Rejects without Redis. */
  async tend(): Promise<void> {
    const { leases } = this.#options;
    const held = [...this.#held.values()];
    const renewed = await leases.renew(held);
    held.forEach((lease, index) => this.#takeRenewed(lease, renewed[index]));
    const missing = [...this.#wanted].filter(([name]) => !this.#held.has(name));
    await Promise.all(missing.map(([name, requestsHandOver]) => this.#take(name, requestsHandOver)));
  }

  async #take(name: string, requestsHandOver: boolean): Promise<void> {
    const { leases, onHeld } = this.#options;
    const acquired = await leases.acquire(name, requestsHandOver);
    if (!acquired.isHeld) return;
    // Another call may have acquired the lease meanwhile.
    if (this.#held.get(name)?.fence === acquired.lease.fence) return;
    if (this.#wanted.has(name)) {
      this.#held.set(name, acquired.lease);
      onHeld(acquired.lease);
    } else await leases.release(acquired.lease);
  }

  #takeRenewed(before: Lease, renewed: Renewed | undefined): void {
    const { onHandOverRequested } = this.#options;
    // The lease may have been dropped or replaced meanwhile.
    if (this.#held.get(before.name)?.fence !== before.fence) return;
    if (renewed?.isHeld !== true) {
      this.#lose(before.name);
      return;
    }
    this.#held.set(before.name, renewed.lease);
    if (renewed.requestedBy !== undefined) onHandOverRequested(renewed.lease, renewed.requestedBy);
  }

  #expire(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const { name, untilMs } of [...this.#held.values()]) if (untilMs <= nowMs) this.#lose(name);
  }

  #lose(name: string): void {
    if (this.#held.delete(name)) this.#options.onLost(name);
  }
}
