import { sleep, type Clock, type Runnable } from "@bunting/runtime";
import type { Lease, Leases, Renewed } from "./leases.js";

export interface LeaseKeeperOptions {
  readonly leases: Pick<Leases, "acquire" | "renew" | "release">;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** This replica has the lease now, or has it under a new number. */
  readonly onHeld: (lease: Lease) => void;
  /** The lease has ended, here at the latest: nothing may be written under it any more. */
  readonly onLost: (name: string) => void;
  /** Another replica wants the lease, and has read what it needs; told with each renewal until the lease is handed over. */
  readonly onAsked: (lease: Lease, by: string) => void;
}

/** A lease outlasts so many renewals that fail, and one replica that dies is missed for no longer than a lease. */
const renewalsPerLease = 5;

/** Takes the leases that this replica wants as soon as they are free, and renews those that it has. */
export class LeaseKeeper implements Runnable {
  readonly name = "leases";
  readonly #options: LeaseKeeperOptions;
  /** Wanted leases, and whether whoever has one is asked for it. */
  readonly #wanted = new Map<string, boolean>();
  readonly #held = new Map<string, Lease>();

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /** The lease, if this replica has it and may still count on it. */
  held(name: string): Lease | undefined {
    const lease = this.#held.get(name);
    return lease !== undefined && this.#options.clock.monotonicMs() < lease.untilMs ? lease : undefined;
  }

  /**
   * Takes a lease when it is free.
   *
   * @param asks whether to ask whoever has it to hand it over; only once this replica has read what it needs to go on
   */
  want(name: string, asks: boolean): void {
    this.#wanted.set(name, asks);
  }

  /** Wants a lease no more. One that is held is released, unless another replica has been given it. Rejects without Redis. */
  async drop(name: string): Promise<void> {
    this.#wanted.delete(name);
    const lease = this.#held.get(name);
    this.#held.delete(name);
    if (lease !== undefined) await this.#options.leases.release(lease);
  }

  /** Goes on with the lease that `Leases.advance` returned. */
  replace(lease: Lease): void {
    if (this.#held.has(lease.name)) this.#held.set(lease.name, lease);
  }

  /** Takes and renews until the signal aborts. Leases that are held then stay so until they are dropped or end. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, leaseMs } = this.#options;
    while (!signal.aborted) {
      // Without Redis leases end by themselves.
      await this.tend().catch(() => undefined);
      this.#expire();
      await sleep(leaseMs / renewalsPerLease, signal, clock);
    }
  }

  /** Renews what is held, and then tries to take what is wanted; as `run` does from time to time. Rejects without Redis. */
  async tend(): Promise<void> {
    const { leases } = this.#options;
    const held = [...this.#held.values()];
    const renewed = await leases.renew(held);
    held.forEach((lease, index) => this.#takeRenewed(lease, renewed[index]));
    const missing = [...this.#wanted].filter(([name]) => !this.#held.has(name));
    await Promise.all(missing.map(([name, asks]) => this.#take(name, asks)));
  }

  async #take(name: string, asks: boolean): Promise<void> {
    const { leases, onHeld } = this.#options;
    const acquired = await leases.acquire(name, asks);
    if (!acquired.isHeld) return;
    // Another call may have taken it meanwhile.
    if (this.#held.get(name)?.fence === acquired.lease.fence) return;
    if (this.#wanted.has(name)) {
      this.#held.set(name, acquired.lease);
      onHeld(acquired.lease);
    } else await leases.release(acquired.lease);
  }

  #takeRenewed(before: Lease, renewed: Renewed | undefined): void {
    const { onAsked } = this.#options;
    // It may have been dropped or replaced meanwhile.
    if (this.#held.get(before.name)?.fence !== before.fence) return;
    if (renewed?.isHeld !== true) {
      this.#lose(before.name);
      return;
    }
    this.#held.set(before.name, renewed.lease);
    if (renewed.askedBy !== undefined) onAsked(renewed.lease, renewed.askedBy);
  }

  #expire(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const { name, untilMs } of [...this.#held.values()]) if (untilMs <= nowMs) this.#lose(name);
  }

  #lose(name: string): void {
    if (this.#held.delete(name)) this.#options.onLost(name);
  }
}
