import type { AgentsOfAddress } from "@bunting/protocol";
import type { ListFollower } from "../subscriber/list-follower.js";
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

/** A Pod's agent follows one: more are of Pods behind one address, and of whoever makes them up. */
const maxLists = 16;

/** Looks at each subscription and stream once: 10,000 of them take about a millisecond. */
export function agentsOfAddresses(
  {
    topics,
    followers = [],
  }: { readonly topics: Iterable<Topic>; readonly followers?: Iterable<ListFollower> },
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
  const lists = new Map<string, Set<string>>();
  for (const { address, digest } of followers) {
    const known = lists.get(address) ?? new Set();
    if (found.has(address) && known.size < maxLists) lists.set(address, known.add(digest));
  }
  return {
    addresses: Array.from(found.values(), (of) => {
      const followed = lists.get(of.address);
      return followed === undefined ? of : { ...of, lists: [...followed] };
    }),
  };
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
