import type { Clock } from "@bunting/runtime";
import { BackplaneError } from "../backplane-error.js";
import { notUnderstood } from "../connection/answers.js";
import type { RedisConnection } from "../connection/redis-connection.js";
import type { Keys } from "../keys.js";
import { endOfFences } from "./last-fence.js";
import { acquireScript, handOverScript, leasesAtOnce, releaseScript, renewScript } from "./lease-scripts.js";

export interface LeasesOptions {
  readonly connection: Pick<RedisConnection, "evaluate">;
  readonly keys: Keys;
  /** Name of this process; a restarted replica needs another name, or it would write under the old fencing numbers. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly clock: Clock;
}

/** A lease that this replica holds. */
export interface Lease {
  readonly name: string;
  readonly holder: string;
  /** The fencing number (token): each write carries it, and Redis refuses writes under a lease that has ended. */
  readonly fence: number;
  /**
   * End of the lease on the monotonic clock of this process. It is counted from before the request was sent, so that
   * the lease ends here before it ends in Redis. A process that was stopped notices the end too late; the fencing
   * number covers that.
   */
  readonly untilMs: number;
}

/** The result of a request for a lease. */
export type Acquired =
  | { readonly isHeld: true; readonly lease: Lease }
  | { readonly isHeld: false; readonly holder: string; readonly leftMs: number };

/** The result of a renewal. */
export type Renewed =
  | {
      readonly isHeld: true;
      readonly lease: Lease;
      /** The replica that requests the lease and is ready to take over. */
      readonly requestedBy?: string;
    }
  | { readonly isHeld: false; readonly name: string; readonly holder?: string };

/**
 * Life of a hand-over request, and of a lease that was handed over and not yet found, in parts of the life of a lease.
 * A requesting replica repeats both several times in that time. If it dies, both times together are no longer than a
 * lease, so its death costs no more than the death of an owner.
 */
const handOverPart = 0.5;

/**
 * Acquires, renews, hands over and releases leases in Redis: each lease is a key with a TTL and a fencing number.
 *
 * Invariants:
 * - A lease has one holder at a time, as far as Redis knows; fencing numbers make Redis refuse the writes of all others.
 * - Fencing numbers only increase, even after a failover of Redis: requests carry the highest number seen here.
 * - This class holds no leases (`LeaseKeeper` does); it keeps only that highest number.
 */
export class Leases {
  readonly #options: LeasesOptions;
  #highest = 0;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /**
   * Acquires a free lease, or finds that this replica has it already: another replica may have handed it over.
   *
   * @param requestsHandOver whether to ask the holder for the lease; true only once this replica is ready to take over
   */
  async acquire(name: string, requestsHandOver: boolean): Promise<Acquired> {
    const { connection, keys, holder, leaseMs } = this.#options;
    const sentMs = this.#nowMs();
    const names = [keys.lease(name), keys.fence, keys.wish(name)];
    const args = [holder, leaseMs, this.#highest, requestsHandOver ? this.#handOverMs : 0];
    const [state, text, leftMs] = await connection.evaluate(acquireScript, names, args);
    if (state === "held") return { isHeld: true, lease: this.#lease(name, text, sentMs) };
    return { isHeld: false, holder: text ?? "", leftMs: Number(leftMs) };
  }

  async renew(leases: readonly Lease[]): Promise<readonly Renewed[]> {
    const batches: Promise<readonly Renewed[]>[] = [];
    for (let at = 0; at < leases.length; at += leasesAtOnce)
      batches.push(this.#renewBatch(leases.slice(at, at + leasesAtOnce)));
    return (await Promise.all(batches)).flat();
  }

  /** Ends a lease. False if it had ended already. */
  async release(lease: Lease): Promise<boolean> {
    const { connection, keys } = this.#options;
    const args = [lease.holder, lease.fence];
    return connection.evaluate(releaseScript, [keys.lease(lease.name)], args);
  }

  /**
   * Hands a lease over to another replica that requests it; that replica finds it by `acquire`. False if the request
   * has expired: the other replica may be gone. Rejects with FENCED if the lease has ended.
   */
  async handOver(lease: Lease, to: string): Promise<boolean> {
    return (await this.#pass(lease, to, this.#handOverMs)) !== undefined;
  }

  /**
   * Takes a new fencing number; to be called before the first write of topics that were written under another lease,
   * and before a new epoch. Rejects with FENCED if the lease has ended.
   */
  async advance(lease: Lease): Promise<Lease> {
    const sentMs = this.#nowMs();
    return this.#lease(lease.name, await this.#pass(lease, lease.holder, this.#options.leaseMs), sentMs);
  }

  /** The new fencing number; undefined if the other replica does not request the lease. */
  async #pass(lease: Lease, to: string, ms: number): Promise<string | undefined> {
    const { connection, keys } = this.#options;
    const names = [keys.lease(lease.name), keys.fence, keys.wish(lease.name)];
    const args = [lease.holder, lease.fence, ms, this.#highest, to];
    const [state, text = ""] = await connection.evaluate(handOverScript, names, args);
    if (state === "unasked") return undefined;
    if (state !== "held") throw fenced(lease, text);
    this.#lease(lease.name, text, this.#nowMs());
    return text;
  }

  async #renewBatch(leases: readonly Lease[]): Promise<readonly Renewed[]> {
    const { connection, keys, holder, leaseMs } = this.#options;
    const sentMs = this.#nowMs();
    const names = leases.flatMap(({ name }) => [keys.lease(name), keys.wish(name)]);
    const args = [holder, leaseMs, ...leases.map(({ fence }) => fence)];
    const answers = await connection.evaluate(renewScript, names, args);
    return leases.map((lease, index): Renewed => {
      const [state, text = ""] = answers.slice(2 * index, 2 * index + 2);
      if (state !== "held")
        return { isHeld: false, name: lease.name, ...(text === "" ? {} : { holder: text }) };
      const renewed = this.#lease(lease.name, String(lease.fence), sentMs);
      return { isHeld: true, lease: renewed, ...(text === "" ? {} : { requestedBy: text }) };
    });
  }

  #lease(name: string, fence: string | undefined, sentMs: number): Lease {
    const { holder, leaseMs } = this.#options;
    const number = Number(fence);
    if (!Number.isInteger(number) || number < 1 || number > endOfFences) throw notUnderstood();
    this.#see(number);
    return Object.freeze({ name, holder, fence: number, untilMs: sentMs + leaseMs });
  }

  #see(fence: number): void {
    this.#highest = Math.max(this.#highest, fence);
  }

  get #handOverMs(): number {
    return Math.ceil(this.#options.leaseMs * handOverPart);
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** The error of a write or a hand-over under a lease that has ended. */
export function fenced(lease: Pick<Lease, "name">, holder: string): BackplaneError {
  const now = holder === "" ? "it has no holder now" : `${holder} holds it now`;
  return new BackplaneError("FENCED", `the lease ${lease.name} has ended: ${now}`);
}
