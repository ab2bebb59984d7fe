import type { Identity } from "@bunting/identity";
import type { LeftSubscriber } from "../../subscriber/left-behind.js";
import type { Subscription } from "../../topic/subscription.js";
import type { Topic } from "../../topic/topic.js";
import { Smallest } from "./smallest.js";
import type { LateSection, LateSubscriber } from "./status-view.js";
import { lateAfterMs, lateCount, versionNameOf, type Times } from "./topic-rows.js";

const maxShown = 50;
/** Limit of subscriptions examined: ten thousand of each of a thousand topics must not block the event loop. */
const maxLookedAt = 20_000;

interface Late {
  readonly topic: Topic;
  readonly subscription: Subscription;
  readonly sinceMs: number;
}

/**
 * Who has been without the newest version for longest.
 *
 * @param lookAt limit of subscriptions examined, for all topics together. With 0, only topics whose newest version is not
 *   that new are counted.
 */
export function lateSubscribers(topics: Iterable<Topic>, times: Times, lookAt = maxLookedAt): LateSection {
  const longest = new Smallest<Late>(maxShown, (a, b) => a.sinceMs - b.sinceMs);
  let total = 0;
  let left = lookAt;
  for (const topic of topics) {
    const count = lateCount(topic, times);
    if (count === 0) continue;
    let found = 0;
    for (const subscription of topic.subscriptions) {
      if (left-- <= 0) break;
      const sinceMs = subscription.missed?.sinceMs;
      if (sinceMs === undefined || sinceMs > times.monotonicMs - lateAfterMs) continue;
      found++;
      longest.add({ topic, subscription, sinceMs });
    }
    total += count ?? found;
  }
  return { total, shown: longest.items.map((late) => described(late, times)) };
}

/** Who has gone without the newest version, the latest first. */
export function leftSubscribers(all: ReadonlySet<LeftSubscriber>, { fromMonotonic }: Times): LateSection {
  const latest = [...all].reverse().slice(0, maxShown);
  const shown = latest.map(
    ({ topic, address, identity, program, sinceMs, count, digest, leftMs }): LateSubscriber => ({
      topic,
      address,
      identity: identity && nameOf(identity),
      program,
      sinceMs: fromMonotonic(sinceMs),
      versions: count,
      has: digest === undefined ? undefined : versionNameOf({ digest }),
      digest,
      leftMs: fromMonotonic(leftMs),
    }),
  );
  return { total: all.size, shown };
}

function described({ topic, subscription, sinceMs }: Late, { fromMonotonic }: Times): LateSubscriber {
  const { subscriber, settledSequence } = subscription;
  const { lastDigest: held, identity } = subscriber;
  const has = held === undefined ? topic.versions.withSequence(settledSequence) : heldVersion(topic, held);
  return {
    topic: topic.key,
    address: subscriber.connection?.remoteAddress,
    identity: identity && nameOf(identity),
    program: subscriber.program,
    sinceMs: fromMonotonic(sinceMs),
    versions: topic.sequence - settledSequence,
    has: has === undefined ? undefined : versionNameOf(has),
    digest: held === "" ? undefined : held,
  };
}

function heldVersion(topic: Topic, digest: string): { readonly digest: string } | undefined {
  return digest === "" ? undefined : (topic.versions.withDigest(digest) ?? { digest });
}

/** A Pod is what one looks for; its ServiceAccount is known without it, too. */
function nameOf({ namespace, pod, serviceAccount }: Identity): string {
  return pod === undefined ? `${namespace}/${serviceAccount} (ServiceAccount)` : `${namespace}/${pod}`;
}
