import { randomBytes } from "node:crypto";

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

/**
 * Which proxies this one is fed by. Each proxy tells those that it feeds, so that one that is fed by itself finds out, over however many
 * others.
 */
export class TierPath {
  /** This process. */
  readonly id = randomBytes(12).toString("base64url");
  readonly #upstream = new Map<object, Tier>();
  readonly #listeners = new Set<() => void>();
  #tier: Tier = { proxies: [this.id], depth: 1 };

  /** This proxy first. */
  get tier(): Tier {
    return this.#tier;
  }

  /** Calls back when the tier changes. Returns how to stop that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A connection to an upstream brought this, or (undefined) ended. */
  fedBy(connection: object, tier: Tier | undefined): void {
    if (tier === undefined) this.#upstream.delete(connection);
    else this.#upstream.set(connection, tier);
    const tiers = [...this.#upstream.values()];
    const proxies = [...new Set([this.id, ...tiers.flatMap((each) => each.proxies)])].slice(0, maxProxies);
    const depth = 1 + Math.max(0, ...tiers.map((each) => each.depth));
    if (depth === this.#tier.depth && proxies.join() === this.#tier.proxies.join()) return;
    this.#tier = { proxies, depth };
    for (const listener of this.#listeners) listener();
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
}
