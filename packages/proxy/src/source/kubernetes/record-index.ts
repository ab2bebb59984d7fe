import type { TopicKey } from "@bunting/protocol";
import type { FlagRecord } from "./flag-record.js";
import type { Audience } from "./record-read.js";
import { clusterKey, partsOfKey, type WatchKey } from "./watch-key.js";

/** The FeatureFlags that are subscribed to, by topic and by namespace. */
export class RecordIndex {
  readonly #byTopic = new Map<TopicKey, FlagRecord>();
  readonly #byNamespace = new Map<string, Set<FlagRecord>>();

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
    const records = this.#byNamespace.get(record.namespace);
    if (records === undefined) this.#byNamespace.set(record.namespace, new Set([record]));
    else records.add(record);
  }

  delete(record: FlagRecord): void {
    if (this.has(record)) this.#byTopic.delete(record.topic);
    const records = this.#byNamespace.get(record.namespace);
    records?.delete(record);
    if (records?.size === 0) this.#byNamespace.delete(record.namespace);
  }

  /** The records that a watch reports to. */
  audience(key: WatchKey): Audience {
    return {
      all: () => this.#under(key),
      find: (topic) => this.#byTopic.get(topic),
    };
  }

  #under(key: WatchKey): Iterable<FlagRecord> {
    if (key === clusterKey) return this.all();
    const { namespace, name } = partsOfKey(key);
    if (name === "*") return this.#byNamespace.get(namespace) ?? [];
    const record = this.#byTopic.get(key);
    return record === undefined ? [] : [record];
  }
}
