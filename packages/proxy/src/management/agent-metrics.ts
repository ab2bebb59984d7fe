import { Counter, Gauge, type Registry } from "@bunting/runtime";
import { agentMessageKinds, type AgentMessageKind, type ProxyMetrics } from "../proxy-metrics.js";

type AgentMetrics = Pick<
  ProxyMetrics,
  "agentMessage" | "agentSubscriptions" | "nacked" | "ackTimedOut" | "rejectedFlags" | "heldBack"
>;

/** The metrics of bunting.sync.v1; all zero if there are only stock clients. */
export function agentMetrics(registry: Registry): AgentMetrics {
  const registers = [registry];
  // Counted here and handed over when Prometheus scrapes: this runs for each subscriber of each broadcast.
  const written = new Map<AgentMessageKind, { messages: number; bytes: number }>(
    agentMessageKinds.map((kind) => [kind, { messages: 0, bytes: 0 }]),
  );
  new Counter({
    name: "bunting_proxy_subscriber_messages_total",
    help: "Messages of bunting.sync.v1 written, by kind: unchanged, delta, snapshot, missing, deleted, topic_error or heartbeat; to other proxies also tier, freshness and history.",
    labelNames: ["kind"],
    registers,
    collect() {
      this.reset();
      for (const [kind, { messages }] of written) this.inc({ kind }, messages);
    },
  });
  new Counter({
    name: "bunting_proxy_subscriber_message_bytes_total",
    help: "Bytes of messages of bunting.sync.v1 written, by kind.",
    labelNames: ["kind"],
    registers,
    collect() {
      this.reset();
      for (const [kind, { bytes }] of written) this.inc({ kind }, bytes);
    },
  });
  const subscriptions = new Gauge({
    name: "bunting_proxy_subscriber_subscriptions",
    help: "Subscriptions of agents by bunting.sync.v1.",
    registers,
  });
  const nacks = new Counter({
    name: "bunting_proxy_subscriber_nacks_total",
    help: "Messages of which an agent applied nothing: refused, or mismatch if a delta did not lead to its digest and a snapshot followed.",
    labelNames: ["kind"],
    registers,
  });
  for (const kind of ["refused", "mismatch"]) nacks.inc({ kind }, 0);
  const ackTimeouts = new Counter({
    name: "bunting_proxy_subscriber_ack_timeouts_total",
    help: "Times an agent did not answer within --ack-timeout, and was sent the whole document.",
    registers,
  });
  const rejectedFlags = new Gauge({
    name: "bunting_proxy_subscriber_rejected_flags",
    help: "Flags that agents can't serve and keep at their previous value, counted for each agent; the log and /status name them.",
    registers,
  });
  const heldBack = new Gauge({
    name: "bunting_proxy_subscriber_held_back",
    help: "Subscriptions that wait for the source to be read again, because their agent holds a newer version than this proxy has.",
    registers,
  });
  return {
    agentMessage: (kind, bytes) => {
      const count = written.get(kind);
      if (count === undefined) return;
      count.messages++;
      count.bytes += bytes;
    },
    agentSubscriptions: (delta) => subscriptions.inc(delta),
    nacked: (kind) => nacks.inc({ kind }),
    ackTimedOut: () => ackTimeouts.inc(),
    rejectedFlags: (delta) => rejectedFlags.inc(delta),
    heldBack: (delta) => heldBack.inc(delta),
  };
}
