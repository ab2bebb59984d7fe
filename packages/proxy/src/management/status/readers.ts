import type { TopicKey } from "@bunting/protocol";
import type { Grant } from "../../access/grants.js";

/** The subscriptions of a ServiceAccount to a topic. */
export interface StatusReader {
  /** The ServiceAccount's user name; `shortName` is `namespace/name`. */
  readonly name: string;
  readonly shortName: string;
  readonly subscriptions: number;
}

/** The subscribed identities by topic, of these topics only if `of` is given. The identity with most subscriptions comes first. */
export function readersByTopic(
  grants: Iterable<Grant>,
  of?: ReadonlySet<TopicKey>,
): ReadonlyMap<TopicKey, readonly StatusReader[]> {
  const byTopic = new Map<TopicKey, StatusReader[]>();
  for (const { name, identity, topic, subscribers } of grants) {
    if (of?.has(topic) === false) continue;
    const readers = byTopic.get(topic) ?? [];
    byTopic.set(topic, readers);
    const shortName = `${identity.namespace}/${identity.serviceAccount}`;
    readers.push({ name, shortName, subscriptions: subscribers.size });
  }
  for (const readers of byTopic.values())
    readers.sort((a, b) => b.subscriptions - a.subscriptions || (a.name < b.name ? -1 : 1));
  return byTopic;
}
