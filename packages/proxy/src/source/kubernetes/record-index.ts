import type { TopicKey } from "@bunting/protocol";
import type { FlagRecord } from "./flag-record.js";
import type { NamespaceCensus } from "./plan-watches.js";
import type { Audience } from "./scope-watch.js";

/** The FeatureFlags that are subscribed to, by topic and by namespace. */
export class RecordIndex {
  readonly #byTopic = new Map<TopicKey, FlagRecord>();
  readonly #byNamespace = new Map<string, Set<FlagRecord>>();

  get size(): number {
    return this.#byTopic.size;
  }

  all(): Iterable<FlagRecord> {
    return this.#byTopic.values();
  }

  get(topic: TopicKey): FlagRecord | undefined {
    return this.#byTopic.get(topic);
  }

  in(namespace: string): Iterable<FlagRecord> {
    return this.#byNamespace.get(namespace) ?? [];
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

  census(): Map<string, NamespaceCensus> {
    const census = new Map<string, NamespaceCensus>();
    for (const [namespace, records] of this.#byNamespace) {
      let existing = 0;
      for (const { existence } of records) if (existence === "exists") existing++;
      census.set(namespace, { existing, referenced: records.size });
    }
    return census;
  }

  /** Those a watch of this namespace, or (without one) of the cluster, speaks of. */
  audience(namespace?: string): Audience {
    return {
      all: () => (namespace === undefined ? this.all() : this.in(namespace)),
      find: (topic) => this.#byTopic.get(topic),
    };
  }

  audienceOfOne(record: FlagRecord): Audience {
    const isThere = (): boolean => this.has(record);
    return {
      all: () => (isThere() ? [record] : []),
      find: (topic) => (topic === record.topic && isThere() ? record : undefined),
    };
  }
}
