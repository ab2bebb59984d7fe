import type { TopicKey } from "@bunting/protocol";
import { SetMultimap } from "@bunting/runtime";
import type { FlagRecord } from "./flag-record.js";
import type { Audience } from "./record-read.js";
import { clusterKey, partsOfKey, type WatchKey } from "./watch-key.js";

/** The FeatureFlags that are subscribed to, by topic and by namespace. */
export class RecordIndex {
  readonly #byTopic = new Map<TopicKey, FlagRecord>();
  readonly #byNamespace = new SetMultimap<string, FlagRecord>();

  /** In the order of their subscriptions. */
  all(): Iterable<FlagRecord> {
    return this.#byTopic.values();
  }

  get(topic: TopicKey): FlagRecord | undefined {
    return this.#byTopic.get(topic);
  }

  has(record: FlagRecord): boolean {
    return this.#byTopic.get(record.topic) === record;
  }

  add(record: FlagRecord): void {
    this.#byTopic.set(record.topic, record);
    this.#byNamespace.add(record.namespace, record);
  }

  delete(record: FlagRecord): void {
    if (this.has(record)) this.#byTopic.delete(record.topic);
    this.#byNamespace.delete(record.namespace, record);
  }

  audience(key: WatchKey): Audience {
    return {
      all: () => this.#under(key),
      find: (topic) => this.#byTopic.get(topic),
    };
  }

  #under(key: WatchKey): Iterable<FlagRecord> {
    if (key === clusterKey) return this.all();
    const { namespace, name } = partsOfKey(key);
    if (name === "*") return this.#byNamespace.get(namespace);
    const record = this.#byTopic.get(key);
    return record === undefined ? [] : [record];
  }
}
