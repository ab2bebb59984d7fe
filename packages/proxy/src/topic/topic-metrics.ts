import { counter, defineMetrics, histogram, label, sizedCounter, upDownCounter } from "@bunting/runtime";

/** Also of the metrics that subscribers record. */
export const fanOutBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export const topicMetrics = defineMetrics({
  topics: upDownCounter(
    "bunting_proxy_topic_topics",
    "Topics by state: starting, live, missing, deleted or stale.",
    label("state", "starting", "live", "missing", "deleted", "stale"),
  ),
  heldSubscribers: upDownCounter(
    "bunting_proxy_topic_held_subscribers",
    "Subscribers that wait because there is nothing to serve them: their FeatureFlag does not exist, is not read yet, or is invalid and was so when the proxy started. Agents may have flags from before.",
  ),
  trialSubscribers: upDownCounter(
    "bunting_proxy_topic_trial_subscribers",
    "Agents that are given a version which others are not to have yet (spec.rollout).",
  ),
  snapshotPublished: sizedCounter(
    ["bunting_proxy_snapshot_published_total", "Snapshots that became the newest of their topic."],
    [
      "bunting_proxy_snapshot_encoded_bytes_total",
      "Bytes of all snapshots; each is encoded once for all of its subscribers.",
    ],
  ),
  converged: histogram(
    "bunting_proxy_topic_convergence_seconds",
    "Seconds from when the source noticed a change until 0.5, 0.99 or all (1) of the subscribers at its publication had it: acknowledged if the protocol has acks, else written.",
    fanOutBuckets,
    label<number>("share"),
  ),
  refused: counter(
    "bunting_proxy_service_refusals_total",
    "Subscriptions refused with UNAVAILABLE and a pushback, by the limit that was reached.",
    label<string>("reason", "topics_per_connection", "topics_per_address"),
  ),
});
