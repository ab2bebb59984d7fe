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
  /** The most topics. Default 40,000; lower in tests. */
  readonly maxTopics?: number;
}

/** A request of a replica to the owner of a topic: to watch the topic, or to read it again. */
export type InterestRequest = "watch" | "refresh";

/** Keeps a script short: Redis does nothing else meanwhile. */
const topicsAtOnce = 256;

/**
 * The topics that replicas want of the owner, as a set in Redis with a TTL. The owner watches every topic that any replica
 * has subscribers for, so replicas mention their topics repeatedly, and request a new one at once.
 */
export class Interest {
  readonly #options: InterestOptions;

  constructor(options: InterestOptions) {
    this.#options = options;
  }

  /** Renews the TTL of topics; topics beyond the limit are ignored. Rejects without Redis. */
  async mention(topics: readonly TopicKey[]): Promise<void> {
    const { connection, keys, wantedMs, maxTopics = mostTopics } = this.#options;
    for (let at = 0; at < topics.length; at += topicsAtOnce) {
      const args = [wantedMs, maxTopics, ...topics.slice(at, at + topicsAtOnce)];
      await connection.evaluate(mentionScript, [keys.interest], args);
    }
  }

  /** Mentions a topic and announces the request to the owner, unless the limit is reached. Rejects without Redis. */
  async ask(topic: TopicKey, request: InterestRequest): Promise<void> {
    const { connection, keys, shards, announcements, wantedMs, maxTopics = mostTopics } = this.#options;
    const shard = shardOf(topic, shards);
    const names = [keys.interest, keys.announcements(shard), keys.announced(shard)];
    const args = [wantedMs, maxTopics, topic, request, announcements];
    await connection.evaluate(askScript, names, args);
  }

  /** The topics that replicas want. They may be of other software. Rejects without Redis. */
  async list(): Promise<readonly TopicKey[]> {
    const { connection, keys, wantedMs, maxTopics = mostTopics } = this.#options;
    const answer = await connection.evaluate(listScript, [keys.interest], [wantedMs, maxTopics]);
    return answer.filter((topic) => topic !== undefined) as TopicKey[];
  }
}
