import { counter, defineMetrics, gauge, label, stateSet, type MetricsOf } from "@bunting/runtime";

const source = label<number>("source");

/** Metrics of an agent that reads remotes itself, as the proxy's `bunting_proxy_remote_*`. */
export const agentRemoteMetrics = defineMetrics({
  remoteState: stateSet(
    "bunting_agent_remote_state",
    "1 for the state of the remote of a source of provider remote: starting, synced, stale (no answer for three intervals), never (no answer so far), forbidden, held (it takes all flags away).",
    ["state", ["starting", "synced", "stale", "never", "forbidden", "held"]],
    source,
  ),
  remoteFlags: gauge(
    "bunting_agent_remote_flags",
    "Flags of a source of provider remote that are served, by the side that they are of: local (the file) or remote.",
    source,
    label<"local" | "remote">("side", "local", "remote"),
  ),
  remoteAnswer: counter(
    "bunting_agent_remote_answers_total",
    "What the remote of a source of provider remote answered, by outcome: answered (taken, or nothing new), failed, forbidden, emptied, overdue.",
    source,
    label<"answered" | "failed" | "forbidden" | "emptied" | "overdue">("outcome"),
  ),
});

export type AgentRemoteMetrics = MetricsOf<typeof agentRemoteMetrics>;
