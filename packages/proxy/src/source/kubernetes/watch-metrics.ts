import { counter, defineMetrics, histogram, label, observed } from "@bunting/runtime";

/** The watches of the kubernetes source at one moment. */
export interface WatchCounts {
  readonly open: Readonly<Record<"object" | "namespace" | "cluster", number>>;
  readonly oldestMs: number;
  /** The longest time for which an open watch has been silent, in ms. */
  readonly silentMs: number;
  /** FeatureFlags that are read only in turn, because there are too many for a watch each. */
  readonly unwatched: number;
  /** Watches of names that peers may have guessed, which wait for their turn to be opened. */
  readonly waiting: number;
}

const noWatches: WatchCounts = {
  open: { object: 0, namespace: 0, cluster: 0 },
  oldestMs: 0,
  silentMs: 0,
  unwatched: 0,
  waiting: 0,
};

/** The metrics of watches on the Kubernetes API; all zero for other sources. */
export const watchMetrics = defineMetrics({
  watchCounts: observed<WatchCounts>(noWatches, [
    {
      name: "bunting_proxy_source_watches",
      help: "Open watches on the Kubernetes API, by what they watch: one object, a namespace, or the cluster.",
      label: "scope",
      of: ({ open }) => Object.entries(open),
    },
    {
      name: "bunting_proxy_source_watch_age_seconds",
      help: "Age of the oldest open watch, in seconds.",
      of: ({ oldestMs }) => oldestMs,
    },
    {
      name: "bunting_proxy_source_watch_silence_seconds",
      help: "Longest time, in seconds, without an event on an open watch; the API server sends a bookmark every minute.",
      of: ({ silentMs }) => silentMs,
    },
    {
      name: "bunting_proxy_source_unwatched_topics",
      help: "Topics that are polled, because there are too many for one watch each and RBAC allows no wider one.",
      of: ({ unwatched }) => unwatched,
    },
    {
      name: "bunting_proxy_source_waiting_topics",
      help: "Topics not known to exist that wait to be read, because too many were asked for that do not exist.",
      of: ({ waiting }) => waiting,
    },
  ]),
  relisted: counter(
    "bunting_proxy_source_relists_total",
    "Consistent reads of what is watched, by reason: start (the first), closed (the API server closed the watch), expired (it no longer has what came after the last event), failed, silent (nothing came for 200 s), asked (an agent holds a newer version).",
    label<string>("reason", "start", "closed", "expired", "failed", "silent", "asked"),
  ),
  watchEvent: counter(
    "bunting_proxy_source_watch_events_total",
    "Events of watches, by type, including those of initial reads.",
    label<string>("type"),
  ),
  writtenToEvent: histogram(
    "bunting_proxy_source_written_to_event_seconds",
    "Seconds from an edit to its event, for edits with the annotation bunting.dev/written-at (ms since the epoch).",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  ),
});
