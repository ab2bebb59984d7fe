import type { TopicKey } from "@bunting/protocol";
import type { RedisConnection } from "../connection/redis-connection.js";
import type { Keys } from "../keys.js";
import { texts } from "../lease/leases.js";
import { shardOf } from "../record/shard-of.js";
import { askScript, listScript, mentionScript } from "./interest-scripts.js";

export interface InterestOptions {
  readonly connection: Pick<RedisConnection, "evaluate">;
  readonly keys: Keys;
  readonly shards: number;
  /** How many announcements a stream keeps, about. */
  readonly announcements: number;
  /** How long a topic counts as wanted after a replica has mentioned it. */
  readonly wantedMs: number;
  /** How many topics of a lease are taken; 20,000 unless a test can't have so many. */
  readonly maxTopics?: number;
}

/** What a replica asks of the owner of a topic: to watch it, or to read it once more. */
export type Asked = "watch" | "refresh";

/** Peers can guess names, and each costs Redis some hundred bytes. */
const mostTopics = 20_000;
/** Keeps a script short: Redis does nothing else meanwhile. */
const topicsAtOnce = 256;

/**
 * Which topics replicas want of an owner. Whoever owns a namespace watches what any replica has subscribers for; so replicas mention their topics
 * from time to time, and ask at once for one that is new.
 */
export class Interest {
  readonly #options: InterestOptions;

  constructor(options: InterestOptions) {
    this.#options = options;
  }

  /** Mentions topics of a lease again; those beyond the most are not taken. Rejects without Redis. */
  async mention(lease: string, topics: readonly TopicKey[]): Promise<void> {
    const { connection, keys, wantedMs, maxTopics = mostTopics } = this.#options;
    for (let at = 0; at < topics.length; at += topicsAtOnce) {
      const args = [wantedMs, maxTopics, ...topics.slice(at, at + topicsAtOnce)];
      await connection.evaluate(mentionScript, [keys.interest(lease)], args);
    }
  }

  /** Mentions a topic, and announces what is asked of its owner; not if there are too many topics. Rejects without Redis. */
  async ask(lease: string, topic: TopicKey, asked: Asked): Promise<void> {
    const { connection, keys, shards, announcements, wantedMs, maxTopics = mostTopics } = this.#options;
    const shard = shardOf(topic, shards);
    const names = [keys.interest(lease), keys.announcements(shard), keys.announced(shard)];
    const args = [wantedMs, maxTopics, topic, asked, announcements];
    await connection.evaluate(askScript, names, args);
  }

  /** The topics of a lease that replicas want; other software may have written there. Rejects without Redis. */
  async list(lease: string): Promise<readonly TopicKey[]> {
    const { connection, keys, wantedMs, maxTopics = mostTopics } = this.#options;
    const answer = await connection.evaluate(listScript, [keys.interest(lease)], [wantedMs, maxTopics]);
    return texts(answer).filter((topic) => topic !== undefined) as TopicKey[];
  }
}
