import { standing } from "../topic/topic-state.js";
import type { Subscription } from "../topic/subscription.js";
import type { Topic } from "../topic/topic.js";
import { lateAfterMs, type Times } from "./status/topic-rows.js";

/** The limit of addresses in one question. */
export const maxAskedAddresses = 128;

/**
 * The content of `/status?agents&addresses=…`: what subscribers from each of these addresses have. By it the operator knows whether a sidecar works that it
 * has given another image. Fields are added and never changed.
 */
export interface AgentsOfAddresses {
  readonly addresses: readonly AgentsOfAddress[];
}

export interface AgentsOfAddress {
  readonly address: string;
  readonly subscriptions: number;
  /** Of these, those whose subscriber has what is served. */
  readonly current: number;
}

/** Looks at each subscription once: 10,000 of them take about a millisecond. */
export function agentsOfAddresses(
  topics: Iterable<Topic>,
  addresses: readonly string[],
  { monotonicMs }: Pick<Times, "monotonicMs">,
): AgentsOfAddresses {
  const found = new Map(addresses.map((address) => [address, { address, subscriptions: 0, current: 0 }]));
  for (const topic of topics)
    for (const subscription of subscriptionsOf(topic)) {
      const of = found.get(subscription.subscriber.connection?.remoteAddress ?? "");
      if (of === undefined) continue;
      of.subscriptions++;
      if (hasWhatIsServed(topic, subscription, monotonicMs)) of.current++;
    }
  return { addresses: [...found.values()] };
}

/** Also of those that try a newer version, and are served that. */
function* subscriptionsOf({ subscriptions, trial }: Topic): Generator<Subscription> {
  yield* subscriptions;
  if (trial !== undefined) yield* trial.subscriptions;
}

/**
 * By its acks; where its protocol has none, what was written counts as received. An edit that is just being sent is no reason to call an agent behind that
 * has acknowledged the version before.
 */
function hasWhatIsServed(
  { state }: Topic,
  { view, due, subscriber: { lastDigest } }: Subscription,
  nowMs: number,
): boolean {
  const newest = view.snapshot;
  if (newest === undefined) return standing(state).kind !== "starting";
  if (lastDigest === undefined || view.tombstone !== undefined) return due === undefined;
  return lastDigest === newest.digest || (lastDigest !== "" && nowMs - newest.publishedMs < lateAfterMs);
}
