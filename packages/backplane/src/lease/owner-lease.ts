import type { Clock } from "@bunting/runtime";
import { BackplaneError } from "../backplane-error.js";
import type { RedisConnection } from "../connection/redis-connection.js";
import { notUnderstood } from "../connection/answers.js";
import type { Keys } from "../keys.js";
import { endOfFences } from "./last-fence.js";
import { acquireScript, releaseScript, renewScript } from "./lease-scripts.js";

export interface OwnerLeaseOptions {
  readonly connection: Pick<RedisConnection, "evaluate">;
  readonly keys: Keys;
  /** Name of this process; a restarted replica needs another name, or it would write under the old fencing numbers. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly clock: Clock;
}

/** The lease while this replica holds it. */
export interface Lease {
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

/**
 * The lease of the owner in Redis: a key with a TTL and a fencing number.
 *
 * Invariants:
 * - The lease has one holder at a time, as far as Redis knows; fencing numbers make Redis refuse the writes of all others.
 * - Fencing numbers only increase, even after a failover of Redis: requests carry the highest number seen here.
 * - This class does not hold the lease (`LeaseKeeper` does); it keeps only that highest number.
 */
export class OwnerLease {
  readonly #options: OwnerLeaseOptions;
  #highest = 0;

  constructor(options: OwnerLeaseOptions) {
    this.#options = options;
  }

  /** Acquires the lease if it is free, or finds that this replica has it already. Undefined if another one has it. */
  async acquire(): Promise<Lease | undefined> {
    const { connection, keys, holder, leaseMs } = this.#options;
    const sentMs = this.#nowMs();
    const args = [holder, leaseMs, this.#highest];
    const [text] = await connection.evaluate(acquireScript, [keys.lease, keys.fence], args);
    if (text === undefined) return undefined;
    const fence = Number(text);
    if (!Number.isInteger(fence) || fence < 1 || fence > endOfFences) throw notUnderstood();
    this.#highest = Math.max(this.#highest, fence);
    return this.#lease(fence, sentMs);
  }

  /** The lease with a later end; undefined if it has ended. */
  async renew({ holder, fence }: Lease): Promise<Lease | undefined> {
    const { connection, keys, leaseMs } = this.#options;
    const sentMs = this.#nowMs();
    const isHeld = await connection.evaluate(renewScript, [keys.lease], [holder, fence, leaseMs]);
    return isHeld ? this.#lease(fence, sentMs) : undefined;
  }

  /** Ends the lease. False if it had ended already. */
  async release({ holder, fence }: Lease): Promise<boolean> {
    const { connection, keys } = this.#options;
    return connection.evaluate(releaseScript, [keys.lease], [holder, fence]);
  }

  #lease(fence: number, sentMs: number): Lease {
    const { holder, leaseMs } = this.#options;
    return Object.freeze({ holder, fence, untilMs: sentMs + leaseMs });
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** The error of a write under a lease that has ended. */
export function fenced(holder: string): BackplaneError {
  const now = holder === "" ? "nobody holds it now" : `${holder} holds it now`;
  return new BackplaneError("FENCED", `the lease of the owner has ended: ${now}`);
}
