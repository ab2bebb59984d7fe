import {
  counter,
  defineMetrics,
  histogram,
  label,
  observed,
  sizedCounter,
  upDownCounter,
} from "@bunting/runtime";
import { fanOutBuckets } from "../topic/topic-metrics.js";

const agentMessageKinds = [
  "unchanged",
  "delta",
  "snapshot",
  "missing",
  "deleted",
  "topic_error",
  "heartbeat",
  "tier",
  "freshness",
  "history",
  "trial",
  "source_flags",
] as const;
export type AgentMessageKind = (typeof agentMessageKinds)[number];

/** Those of bunting.sync.v1 are all zero if there are only stock clients. */
export const subscriberMetrics = defineMetrics({
  activeStreams: upDownCounter(
    "sync_active_streams",
    "Open streams of all clients, under flagd-proxy's name: SyncFlags of flagd.sync.v1 and sync.v1, one for each topic, and Sync of bunting.sync.v1, one for each source of an agent, or for up to 24 topics of another proxy. Streams without a topic yet count, too.",
  ),
  /** Snapshots not sent. */
  conflated: counter(
    "bunting_proxy_subscriber_conflated_total",
    "Snapshots not sent to a subscriber because a newer one took their place.",
  ),
  frameWritten: counter("bunting_proxy_subscriber_frames_written_total", "Snapshots written to streams."),
  /** Of subscribers that were there at the publication. */
  fannedOut: histogram(
    "bunting_proxy_subscriber_fan_out_seconds",
    "Seconds from the publication of a snapshot until it was written to a subscriber.",
    fanOutBuckets,
  ),
  agentMessage: sizedCounter(
    [
      "bunting_proxy_subscriber_messages_total",
      "Messages of bunting.sync.v1 written, by kind: unchanged, delta, snapshot, missing, deleted, topic_error, heartbeat or source_flags; to other proxies also tier, freshness, history and trial.",
    ],
    [
      "bunting_proxy_subscriber_message_bytes_total",
      "Bytes of messages of bunting.sync.v1 written, by kind.",
    ],
    label("kind", ...agentMessageKinds),
  ),
  agentSubscriptions: upDownCounter(
    "bunting_proxy_subscriber_subscriptions",
    "Subscriptions of agents by bunting.sync.v1.",
  ),
  nacked: counter(
    "bunting_proxy_subscriber_nacks_total",
    "Messages of which an agent applied nothing: refused, or mismatch if a delta did not lead to its digest and a snapshot followed.",
    label("kind", "refused", "mismatch"),
  ),
  ackTimedOut: counter(
    "bunting_proxy_subscriber_ack_timeouts_total",
    "Times an agent did not answer within --ack-timeout, and was sent the whole document.",
  ),
  rejectedFlags: upDownCounter(
    "bunting_proxy_subscriber_rejected_flags",
    "Flags that agents can't serve and keep at their previous value, counted for each agent; the log and /status name them.",
  ),
  readLeftBehind: observed<number>(0, [
    {
      name: "bunting_proxy_subscriber_left_behind",
      help: "Subscriptions that ended within the last ten minutes without the newest flags, such as those of frozen agents, and have not come back; the log and /status name them.",
      of: (count) => count,
    },
  ]),
  heldBack: upDownCounter(
    "bunting_proxy_subscriber_held_back",
    "Subscriptions that wait for the source to be read again, because their agent holds a newer version than this proxy has.",
  ),
});
