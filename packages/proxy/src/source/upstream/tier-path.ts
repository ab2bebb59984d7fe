import { randomBytes } from "node:crypto";
import type { Clock } from "@bunting/runtime";

/** The proxies that flags come through, as an upstream tells it. */
export interface Tier {
  readonly proxies: readonly string[];
  readonly depth: number;
}

export interface TierRefusal {
  readonly reason: "loop" | "depth";
  readonly message: string;
}

/** More than any sensible deployment has; a loop through proxies that don't take part in this would have no end. */
export const maxDepth = 8;
/** Of one message: proxies with many replicas on each level are named in part. */
const maxProxies = 256;
/** Proxies name themselves with 16 characters. Longer names are no proxy's, and would be copied to each proxy that this one feeds. */
const maxNameCharacters = 64;
/** How often followers are told at most: each change goes to all of them, and an upstream can change its tier with every message. */
const reportIntervalMs = 1_000;

/**
 * Which proxies this one is fed by. Each proxy tells those that it feeds, so that one that is fed by itself finds out, over however many
 * others.
 */
export class TierPath {
  /** This process. */
  readonly id = randomBytes(12).toString("base64url");
  readonly #clock: Clock;
  readonly #upstream = new Map<object, Tier>();
  readonly #listeners = new Set<() => void>();
  /** Undefined if it has to be put together again, which is not done for every message of an upstream. */
  #tier: Tier | undefined;
  #reported: Tier = { proxies: [this.id], depth: 1 };
  #reportedMs = -Infinity;
  #cancelReport: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** This proxy first. */
  get tier(): Tier {
    return (this.#tier ??= this.#compose());
  }

  /** Calls back when the tier has changed, at most once a second. Returns how to stop that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A connection to an upstream brought this, or (undefined) ended. */
  fedBy(connection: object, tier: Tier | undefined): void {
    if (tier === undefined) this.#upstream.delete(connection);
    else this.#upstream.set(connection, bounded(tier));
    this.#tier = undefined;
    const waitMs = this.#reportedMs + reportIntervalMs - this.#clock.monotonicMs();
    // A proxy that ends has no upstream any more, and leaves no timer.
    if (waitMs <= 0 || this.#upstream.size === 0) this.#report();
    else this.#cancelReport ??= this.#clock.after(waitMs, () => this.#report());
  }

  /** Why a proxy with this tier can't feed this one; undefined if it can. */
  refusalOf({ proxies, depth }: Tier): TierRefusal | undefined {
    if (proxies.includes(this.id))
      return {
        reason: "loop",
        message: "this proxy feeds its upstream: take the loop out of the --source of one of them",
      };
    if (depth >= maxDepth)
      return {
        reason: "depth",
        message: `the flags come through ${depth} proxies already, and at most ${maxDepth} may follow each other`,
      };
    return undefined;
  }

  #report(): void {
    this.#cancelReport?.();
    this.#cancelReport = undefined;
    const { tier } = this;
    if (isSame(tier, this.#reported)) return;
    this.#reported = tier;
    this.#reportedMs = this.#clock.monotonicMs();
    for (const listener of this.#listeners) listener();
  }

  #compose(): Tier {
    const proxies = new Set([this.id]);
    let depth = 1;
    for (const tier of this.#upstream.values()) {
      for (const proxy of tier.proxies) if (proxies.size < maxProxies) proxies.add(proxy);
      depth = Math.max(depth, 1 + tier.depth);
    }
    return { proxies: [...proxies], depth };
  }
}

function bounded({ proxies, depth }: Tier): Tier {
  return { proxies: proxies.filter((name) => name.length <= maxNameCharacters).slice(0, maxProxies), depth };
}

function isSame(one: Tier, other: Tier): boolean {
  return (
    one.depth === other.depth &&
    one.proxies.length === other.proxies.length &&
    one.proxies.every((proxy, index) => proxy === other.proxies[index])
  );
}
