import { identityName, type Identity } from "@bunting/identity";
import type { TopicKey } from "@bunting/protocol";
import { SetMultimap } from "@bunting/runtime";
import type { Admitted } from "./access.js";

/** The subscriptions of one ServiceAccount to one topic: what it may read does not depend on its Pod or token. */
export interface Grant {
  readonly name: string;
  /** One of those of the ServiceAccount. */
  readonly identity: Identity;
  readonly topic: TopicKey;
  readonly subscribers: Set<Admitted>;
}

/** Subscriptions of callers with an identity. */
export class Grants {
  readonly #byName = new Map<string, Grant>();
  readonly #byTopic = new SetMultimap<TopicKey, Grant>();
  readonly #bySubscriber = new Map<Admitted, Grant>();

  /** For a walk during which subscriptions may come and go. */
  get all(): Iterable<Grant> {
    return this.#byName.values();
  }

  /** Those to one topic. */
  of(topic: TopicKey): Iterable<Grant> {
    return this.#byTopic.get(topic);
  }

  add(identity: Identity, topic: TopicKey, subscriber: Admitted): void {
    const name = identityName(identity);
    const key = `${name} ${topic}`;
    const grant = this.#byName.get(key) ?? { name, identity, topic, subscribers: new Set() };
    this.#byName.set(key, grant);
    this.#byTopic.add(topic, grant);
    grant.subscribers.add(subscriber);
    this.#bySubscriber.set(subscriber, grant);
  }

  delete(subscriber: Admitted): void {
    const grant = this.#bySubscriber.get(subscriber);
    if (grant === undefined) return;
    this.#bySubscriber.delete(subscriber);
    grant.subscribers.delete(subscriber);
    if (grant.subscribers.size > 0) return;
    this.#byName.delete(`${grant.name} ${grant.topic}`);
    this.#byTopic.delete(grant.topic, grant);
  }
}
