import type { TopicKey } from "@bunting/protocol";

/**
 * Version of the keys and of what replicas mean by them. Replicas with different versions do not see each other: during a
 * rolling update from one to the next, each version has an owner and records of its own. (Without a version: each namespace
 * had a lease. Owners of both kinds would refuse each other's records again and again.)
 */
const version = "2:";

/**
 * The names of all keys in Redis. Scripts touch several keys at once, so all must be in one Redis. Redis Cluster answers
 * such scripts with an error, and is not supported.
 */
export class Keys {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix + version;
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

  /** The lease of the owner. */
  get lease(): string {
    return `${this.#prefix}lease`;
  }

  /** The topics that replicas want, each with the time of its last mention. */
  get interest(): string {
    return `${this.#prefix}interest`;
  }

  announcements(shard: number): string {
    return `${this.#prefix}announcements:${shard}`;
  }

  /** The number of announcements of a shard: each carries its own number, so that readers notice gaps. */
  announced(shard: number): string {
    return `${this.#prefix}announced:${shard}`;
  }

  /**
   * Keys of each kind, to find out whether Redis would accept writes to them. A string, a hash and a stream that nobody
   * uses come first.
   */
  get samples(): readonly string[] {
    const unused = [this.announced(-1), this.record("sample/-"), this.announcements(-1)];
    return [...unused, this.lease, this.interest, this.fence];
  }
}
