import type { Clock } from "@bunting/runtime";
import { BackplaneError } from "../backplane-error.js";
import type { RedisConnection } from "../connection/redis-connection.js";
import type { Keys } from "../keys.js";
import { acquireScript, handOverScript, releaseScript, renewScript } from "./lease-scripts.js";

export interface LeasesOptions {
  readonly connection: Pick<RedisConnection, "evaluate">;
  readonly keys: Keys;
  /** This replica; each process of it needs another name, or a new one would go on under the numbers of the old one. */
  readonly holder: string;
  readonly leaseMs: number;
  readonly clock: Clock;
}

/** A lease of this replica. */
export interface Lease {
  readonly name: string;
  readonly holder: string;
  /** The fencing number: each write carries it, and Redis refuses those of a lease that has ended. */
  readonly fence: number;
  /**
   * Until when this replica may count on it, on its monotonic clock; counted from before it asked, so it ends here before it ends in Redis.
   * It is no proof: a process that is stopped notices only afterwards. That is what the number is for.
   */
  readonly untilMs: number;
}

/** What became of a request for a lease. */
export type Acquired =
  | { readonly isHeld: true; readonly lease: Lease }
  | { readonly isHeld: false; readonly holder: string; readonly leftMs: number };

/** What became of a lease. */
export type Renewed =
  | {
      readonly isHeld: true;
      readonly lease: Lease;
      /** The replica that asks for it, and has read what it needs to go on. */
      readonly askedBy?: string;
    }
  | { readonly isHeld: false; readonly name: string; readonly holder?: string };

/**
 * In parts of the life of a lease: how long a replica that asks is believed to be there, and how long it has to find what it was given. It asks, and
 * finds, several times in that. If it dies, both together and the next attempt to take the lease cost no more than any owner that dies.
 */
const askingPart = 0.5;

/** Keeps a script short: Redis does nothing else meanwhile. */
const leasesAtOnce = 256;

/** Takes, renews, hands over and releases leases. It remembers the highest number that it has seen, and keeps none of the leases. */
export class Leases {
  readonly #options: LeasesOptions;
  #highest = 0;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /**
   * Takes a lease that is free, or finds that this replica has it: another may have handed it over.
   *
   * @param asks whether this replica wants it from whoever has it, because it has read what it needs to go on
   */
  async acquire(name: string, asks: boolean): Promise<Acquired> {
    const { connection, keys, holder, leaseMs } = this.#options;
    const sentMs = this.#nowMs();
    const names = [keys.lease(name), keys.fence, keys.wish(name)];
    const args = [holder, leaseMs, this.#highest, asks ? this.#askingMs : 0];
    const [state, text, leftMs] = texts(await connection.evaluate(acquireScript, names, args));
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
    return (await connection.evaluate(releaseScript, [keys.lease(lease.name)], args)) === 1;
  }

  /**
   * Gives a lease to another replica that asks for it, which finds it by `acquire`. False if that one asks no more: it may be gone. Rejects
   * with FENCED if the lease has ended.
   */
  async handOver(lease: Lease, to: string): Promise<boolean> {
    return (await this.#pass(lease, to, this.#askingMs)) !== undefined;
  }

  /**
   * Goes on under a new number: before the first write of topics that were written under another lease, and before a new epoch. Rejects
   * with FENCED if it has ended.
   */
  async advance(lease: Lease): Promise<Lease> {
    const sentMs = this.#nowMs();
    return this.#lease(lease.name, await this.#pass(lease, lease.holder, this.#options.leaseMs), sentMs);
  }

  /** The new number; undefined if the other replica does not ask for the lease. */
  async #pass(lease: Lease, to: string, ms: number): Promise<string | undefined> {
    const { connection, keys } = this.#options;
    const names = [keys.lease(lease.name), keys.fence, keys.wish(lease.name)];
    const args = [lease.holder, lease.fence, ms, this.#highest, to];
    const [state, text = ""] = texts(await connection.evaluate(handOverScript, names, args));
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
    const answers = texts(await connection.evaluate(renewScript, names, args));
    return leases.map((lease, index): Renewed => {
      const [state, text = ""] = answers.slice(2 * index, 2 * index + 2);
      if (state !== "held")
        return { isHeld: false, name: lease.name, ...(text === "" ? {} : { holder: text }) };
      const renewed = this.#lease(lease.name, String(lease.fence), sentMs);
      return { isHeld: true, lease: renewed, ...(text === "" ? {} : { askedBy: text }) };
    });
  }

  #lease(name: string, fence: string | undefined, sentMs: number): Lease {
    const { holder, leaseMs } = this.#options;
    const number = Number(fence);
    if (!Number.isSafeInteger(number) || number < 1) throw notUnderstood();
    this.#see(number);
    return Object.freeze({ name, holder, fence: number, untilMs: sentMs + leaseMs });
  }

  #see(fence: number): void {
    this.#highest = Math.max(this.#highest, fence);
  }

  get #askingMs(): number {
    return Math.ceil(this.#options.leaseMs * askingPart);
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** What a write or a hand-over under a lease that has ended is refused with. */
export function fenced(lease: Pick<Lease, "name">, holder: string): BackplaneError {
  const now = holder === "" ? "nobody has it now" : `${holder} has it now`;
  return new BackplaneError("FENCED", `the lease ${lease.name} has ended: ${now}`);
}

/**
 * The texts and numbers of an answer.
 *
 * @throws BackplaneError REDIS_FAILED if it is something else: then what answers is not the Redis that was asked
 */
export function texts(answer: unknown): (string | undefined)[] {
  if (!Array.isArray(answer)) throw notUnderstood();
  return answer.map((one: unknown) => {
    if (one === null) return undefined;
    if (!Buffer.isBuffer(one) && typeof one !== "number") throw notUnderstood();
    return String(one);
  });
}

function notUnderstood(): BackplaneError {
  return new BackplaneError("REDIS_FAILED", "Redis gives an answer to something else than what it was asked");
}
