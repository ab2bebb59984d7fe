import type { TopicKey } from "@bunting/protocol";

/**
 * The names of all keys in Redis. Scripts touch several keys at once, so all must be in one Redis. Redis Cluster answers
 * such scripts with an error, and is not supported.
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

  /** The hand-over request: the replica that wants a lease that another one holds. */
  wish(name: string): string {
    return `${this.#prefix}wish:${name}`;
  }

  /** The topics of a lease that replicas want, each with the time of its last mention. */
  interest(lease: string): string {
    return `${this.#prefix}interest:${lease}`;
  }

  announcements(shard: number): string {
    return `${this.#prefix}announcements:${shard}`;
  }

  /**
   * Sample keys of each kind, to find out whether Redis would accept writes to them. A string, a hash and a stream come
   * first.
   */
  get samples(): readonly string[] {
    const lease = "sample";
    const written = [this.wish(lease), this.record("sample/-"), this.announcements(-1)];
    return [...written, this.announced(-1), this.lease(lease), this.interest(lease), this.fence];
  }

  /** The number of announcements of a shard: each carries its own number, so that readers notice gaps. */
  announced(shard: number): string {
    return `${this.#prefix}announced:${shard}`;
  }
}
