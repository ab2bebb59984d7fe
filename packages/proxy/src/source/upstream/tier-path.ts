import { randomBytes } from "node:crypto";
import { Signal, type Clock } from "@bunting/runtime";

/** The proxies that flags come through, as an upstream reports them. */
export interface Tier {
  readonly proxies: readonly string[];
  readonly depth: number;
}

export interface TierRefusal {
  readonly reason: "loop" | "depth";
  readonly message: string;
}

/** More than any sensible deployment has: ends a loop through proxies that do not report their tiers. */
export const maxDepth = 8;
/** Limit of proxies named in a message: with many replicas on each level, only a part is named. */
const maxProxies = 256;
/** Length of a proxy's name. Longer names are refused, because they would be copied to each proxy that this one feeds. */
const maxNameCharacters = 64;
/** Shortest interval of reports to followers: an upstream can change its tier with every message, and all followers get it. */
const reportIntervalMs = 1_000;

/**
 * The proxies that feed this one. Each proxy reports them to its followers, so that a proxy that is fed by itself, over
 * however many others, finds out.
 */
export class TierPath {
  /** Name of this process. */
  readonly id = randomBytes(12).toString("base64url");
  readonly #clock: Clock;
  readonly #upstream = new Map<object, Tier>();
  readonly #changed = new Signal();
  /** Cached; undefined if it has to be computed again, which is not done for every message. */
  #tier: Tier | undefined;
  #reported: Tier = { proxies: [this.id], depth: 1 };
  #reportedMs = -Infinity;
  #cancelReport: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The tier of this proxy; its own name first. */
  get tier(): Tier {
    return (this.#tier ??= this.#compose());
  }

  /** Calls back when the tier has changed, at most once a second. Returns a function that ends this. */
  onChange(listener: () => void): () => void {
    return this.#changed.listen(listener);
  }

  /** A connection to an upstream brought this tier, or (undefined) ended. */
  fedBy(connection: object, tier: Tier | undefined): void {
    if (tier === undefined) this.#upstream.delete(connection);
    else this.#upstream.set(connection, bounded(tier));
    this.#tier = undefined;
    const waitMs = this.#reportedMs + reportIntervalMs - this.#clock.monotonicMs();
    // A proxy that stops has no upstream any more, and must leave no timer.
    if (waitMs <= 0 || this.#upstream.size === 0) this.#report();
    else this.#cancelReport ??= this.#clock.after(waitMs, () => this.#report());
  }

  /** The reason why a proxy of this tier can't feed this one, if it can't. */
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
    this.#changed.emit();
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
