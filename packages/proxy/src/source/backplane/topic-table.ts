import { mostTopics } from "@bunting/backplane";
import { isTopicKey, type TopicKey } from "@bunting/protocol";
import { isRemoteKey } from "../remote/remote-key.js";
import type { ReplicatedTopic } from "./replicated-topic.js";

export interface TopicTableOptions {
  readonly create: (key: TopicKey) => ReplicatedTopic;
  readonly onForgotten: (topic: ReplicatedTopic) => void;
  /** Limit of topics, above which none is taken on for other replicas. Default: as many as Redis lists; lower in tests. */
  readonly maxTopics?: number;
}

/** The topics that this replica knows: those with subscribers here, and, for an owner, those that others want. */
export class TopicTable implements Iterable<ReplicatedTopic> {
  readonly #options: TopicTableOptions;
  readonly #topics = new Map<TopicKey, ReplicatedTopic>();

  constructor(options: TopicTableOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#topics.size;
  }

  /** A copy of the present list: topics may come and go during the walk. */
  [Symbol.iterator](): Iterator<ReplicatedTopic> {
    return [...this.#topics.values()][Symbol.iterator]();
  }

  find(key: TopicKey): ReplicatedTopic | undefined {
    return this.#topics.get(key);
  }

  /** The topic of this key, created if need be. */
  topic(key: TopicKey): ReplicatedTopic {
    let topic = this.#topics.get(key);
    if (topic === undefined) {
      topic = this.#options.create(key);
      this.#topics.set(key, topic);
    }
    return topic;
  }

  /**
   * The topic of a key from Redis, created if need be. Undefined if it is no key, or there are too many topics: other
   * programs may write to Redis, and each topic costs memory and a read of the API server.
   */
  topicForOthers(key: string): ReplicatedTopic | undefined {
    const { maxTopics = mostTopics } = this.#options;
    if (!isTopicKey(key) && !isRemoteKey(key)) return undefined;
    return this.#topics.get(key) ?? (this.size < maxTopics ? this.topic(key) : undefined);
  }

  /**
   * No watch can follow changes. Only topics that exist count, if there are any: of names that do not, which peers can make
   * up, some wait for their first read, and seem neither readable nor stale. Remotes are not read from the API server.
   */
  get cannotRead(): boolean {
    let [hasExisting, hasUnreadable, hasOther] = [false, false, false];
    for (const topic of this.#topics.values()) {
      if (!topic.isWatched || topic.isRemote) continue;
      if (topic.exists && !topic.cannotRead) return false;
      if (topic.exists) hasExisting = true;
      else if (topic.cannotRead) hasUnreadable = true;
      else hasOther = true;
    }
    return hasExisting || (hasUnreadable && !hasOther);
  }

  settle(): void {
    for (const topic of this) topic.settle();
  }

  /** Forgets the topic if nobody needs it. */
  forgetIdle(topic: ReplicatedTopic): void {
    if (!topic.isIdle || this.#topics.get(topic.key) !== topic) return;
    topic.close();
    this.#topics.delete(topic.key);
    this.#options.onForgotten(topic);
  }

  clear(): void {
    for (const topic of this) topic.close();
    this.#topics.clear();
  }
}
