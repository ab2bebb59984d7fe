import type { TopicKey } from "@bunting/protocol";
import type { Ownership, ReplicatedShared } from "./replicated-shared.js";
import { ReplicatedTopic } from "./replicated-topic.js";
import { OwnershipUnit } from "./ownership-unit.js";

export interface OwnershipUnitsOptions {
  /** Whether all topics have one owner, because all are under one watch. */
  readonly isClusterWide: boolean;
  /** Called when the last topic of the unit was forgotten. */
  readonly onEmpty: (unit: OwnershipUnit) => void;
  readonly onForgotten: (topic: TopicKey) => void;
}

/** All units and topics that this replica knows. */
export class OwnershipUnits implements Iterable<OwnershipUnit> {
  readonly #options: OwnershipUnitsOptions;
  readonly #units = new Map<string, OwnershipUnit>();
  #size = 0;

  constructor(options: OwnershipUnitsOptions) {
    this.#options = options;
  }

  /** Topics of all units together. */
  get size(): number {
    return this.#size;
  }

  /** A copy of the present list: units may come and go during the walk. */
  [Symbol.iterator](): Iterator<OwnershipUnit> {
    return [...this.#units.values()][Symbol.iterator]();
  }

  /** The topics of all units. None may be added or removed during the walk. */
  *topics(): Generator<ReplicatedTopic> {
    for (const unit of this.#units.values()) yield* unit.topics.values();
  }

  /** The name of the unit of a topic. */
  nameOf(key: TopicKey): string {
    return this.#options.isClusterWide ? "cluster" : `namespace/${key.slice(0, key.indexOf("/"))}`;
  }

  get({ name }: Pick<Ownership, "name">): OwnershipUnit | undefined {
    return this.#units.get(name);
  }

  /** The unit of this name, created if need be. */
  unit(name: string): OwnershipUnit {
    let unit = this.#units.get(name);
    if (unit === undefined) {
      unit = new OwnershipUnit(name);
      this.#units.set(name, unit);
    }
    return unit;
  }

  find(key: TopicKey): ReplicatedTopic | undefined {
    return this.#units.get(this.nameOf(key))?.topics.get(key);
  }

  /** The topic of this key, created if need be. */
  topic(key: TopicKey, shared: ReplicatedShared<ReplicatedTopic>): ReplicatedTopic {
    const unit = this.unit(this.nameOf(key));
    let topic = unit.topics.get(key);
    if (topic === undefined) {
      topic = new ReplicatedTopic(key, unit, shared);
      unit.topics.set(key, topic);
      this.#size++;
    }
    return topic;
  }

  /** Forgets an idle topic, and its unit with the last topic. */
  forgetIdle(topic: ReplicatedTopic): void {
    const { key } = topic;
    const unit = this.get(topic.ownershipUnit);
    if (unit === undefined || !topic.isIdle || unit.topics.get(key) !== topic) return;
    topic.close();
    unit.topics.delete(key);
    this.#size--;
    this.#options.onForgotten(key);
    if (unit.topics.size > 0) return;
    this.#units.delete(unit.name);
    this.#options.onEmpty(unit);
  }

  clear(): void {
    for (const topic of this.topics()) topic.close();
    this.#units.clear();
    this.#size = 0;
  }
}
