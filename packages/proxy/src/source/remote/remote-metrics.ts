import { counter, defineMetrics, label, observed, type MetricsOf } from "@bunting/runtime";
import type { RemoteEvent, RemoteStateName } from "@bunting/remote";

/** The remotes of one replica at one moment. */
export interface RemoteCounts {
  /** Remotes that this replica reads, by state. */
  readonly states: Readonly<Record<RemoteStateName, number>>;
  /** Time since the last answer of the one that has been silent longest, in ms. */
  readonly oldestAnswerMs: number;
  /** FeatureFlags that are served with flags of a remote. */
  readonly merged: number;
}

const noRemotes: RemoteCounts = {
  states: { starting: 0, synced: 0, stale: 0, never: 0, forbidden: 0, held: 0 },
  oldestAnswerMs: 0,
  merged: 0,
};

/** The metrics of remote flag providers; all zero without any. */
export const remoteMetrics = defineMetrics({
  remoteCounts: observed<RemoteCounts>(noRemotes, [
    {
      name: "bunting_proxy_remote_topics",
      help: "FeatureFlags whose remote flag provider this replica reads, by state: starting, synced, stale (no answer for three intervals), never (no answer so far), forbidden (its Secret may not be read), held (it takes all flags away).",
      label: "state",
      of: ({ states }) => Object.entries(states),
    },
    {
      name: "bunting_proxy_remote_oldest_answer_seconds",
      help: "Time since the last answer of the remote flag provider that has been silent longest, in seconds.",
      of: ({ oldestAnswerMs }) => oldestAnswerMs,
    },
    {
      name: "bunting_proxy_remote_merged_topics",
      help: "FeatureFlags that this replica serves with flags of their remote flag provider, whoever reads it.",
      of: ({ merged }) => merged,
    },
  ]),
  remoteAnswer: counter(
    "bunting_proxy_remote_answers_total",
    "What remote flag providers answered, by outcome: answered (taken, or nothing new), failed, forbidden, emptied, overdue.",
    label<RemoteEvent["kind"]>("outcome", "answered", "failed", "forbidden", "emptied", "overdue"),
  ),
});

export type RemoteMetrics = MetricsOf<typeof remoteMetrics>;
