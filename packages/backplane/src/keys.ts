import type { TopicKey } from "@bunting/protocol";

/**
 * The names of all keys in Redis. Scripts touch several at once, so all must be in one Redis: Redis Cluster is not supported, which
 * answers such scripts with an error.
 */
export class Keys {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** The last fencing number that was given out. It is never deleted. */
  get fence(): string {
    return `${this.#prefix}fence`;
  }

  /** The live replicas, each with the time at which it counts as gone. */
  get members(): string {
    return `${this.#prefix}members`;
  }

  record(topic: TopicKey): string {
    return `${this.#prefix}record:${topic}`;
  }

  lease(name: string): string {
    return `${this.#prefix}lease:${name}`;
  }

  /** Who would like to have a lease that another replica holds. */
  wish(name: string): string {
    return `${this.#prefix}wish:${name}`;
  }

  /** The topics of a lease that replicas want, each with the time at which one mentioned it last. */
  interest(lease: string): string {
    return `${this.#prefix}interest:${lease}`;
  }

  announcements(shard: number): string {
    return `${this.#prefix}announcements:${shard}`;
  }

  /**
   * A key of each kind, most of them of no topic and no lease, to find out whether Redis would take what is written there. A text, a hash and a
   * stream come first.
   */
  get samples(): readonly string[] {
    const lease = "sample";
    const written = [this.wish(lease), this.record("sample/-"), this.announcements(-1)];
    return [...written, this.announced(-1), this.lease(lease), this.interest(lease), this.fence];
  }

  /** How many announcements a shard has had: each carries its number, so that readers notice when they miss one. */
  announced(shard: number): string {
    return `${this.#prefix}announced:${shard}`;
  }
}
