import type { TopicKey } from "@bunting/protocol";
import type { RedisConnection } from "../connection/redis-connection.js";
import type { Keys } from "../keys.js";
import { shardOf } from "../record/shard-of.js";
import { askScript, listScript, mentionScript, mostTopics } from "./interest-scripts.js";

export interface InterestOptions {
  readonly connection: Pick<RedisConnection, "evaluate">;
  readonly keys: Keys;
  readonly shards: number;
  /** Approximate length of a stream. */
  readonly announcements: number;
  /** TTL of a topic after a replica has mentioned it, in ms. */
  readonly wantedMs: number;
  /** The most topics of a lease. Default 20,000; lower in tests. */
  readonly maxTopics?: number;
}

/** A request of a replica to the owner of a topic: to watch the topic, or to read it again. */
export type InterestRequest = "watch" | "refresh";

/** Keeps a script short: Redis does nothing else meanwhile. */
const topicsAtOnce = 256;

/**
 * The topics that replicas want of an owner, as sets in Redis with a TTL. The owner of a namespace watches every topic
 * that any replica has subscribers for, so replicas mention their topics repeatedly, and request a new one at once.
 */
export class Interest {
  readonly #options: InterestOptions;

  constructor(options: InterestOptions) {
    this.#options = options;
  }

  /** Renews the TTL of topics of a lease; topics beyond the limit are ignored. Rejects without Redis. */
  async mention(lease: string, topics: readonly TopicKey[]): Promise<void> {
    const { connection, keys, wantedMs, maxTopics = mostTopics } = this.#options;
    for (let at = 0; at < topics.length; at += topicsAtOnce) {
      const args = [wantedMs, maxTopics, ...topics.slice(at, at + topicsAtOnce)];
      await connection.evaluate(mentionScript, [keys.interest(lease)], args);
    }
  }

  /** Mentions a topic and announces the request to its owner, unless the limit is reached. Rejects without Redis. */
  async ask(lease: string, topic: TopicKey, request: InterestRequest): Promise<void> {
    const { connection, keys, shards, announcements, wantedMs, maxTopics = mostTopics } = this.#options;
    const shard = shardOf(topic, shards);
    const names = [keys.interest(lease), keys.announcements(shard), keys.announced(shard)];
    const args = [wantedMs, maxTopics, topic, request, announcements];
    await connection.evaluate(askScript, names, args);
  }

  /** The topics of a lease that replicas want. They may be of other software. Rejects without Redis. */
  async list(lease: string): Promise<readonly TopicKey[]> {
    const { connection, keys, wantedMs, maxTopics = mostTopics } = this.#options;
    const answer = await connection.evaluate(listScript, [keys.interest(lease)], [wantedMs, maxTopics]);
    return answer.filter((topic) => topic !== undefined) as TopicKey[];
  }
}
