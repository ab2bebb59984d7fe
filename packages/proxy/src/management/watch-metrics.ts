import { Counter, Gauge, HotHistogram, type Registry } from "@bunting/runtime";
import type { SourceMetrics, WatchCounts } from "../source/source-metrics.js";

export interface WatchMetrics extends Pick<
  SourceMetrics,
  "relisted" | "watchEvent" | "writtenToEvent" | "watchCounts"
> {
  /** The current watches. */
  readWatchCounts(): WatchCounts;
}

/** The metrics of watches on the Kubernetes API; all zero for other sources. */
export function watchMetrics(registry: Registry): WatchMetrics {
  const registers = [registry];
  let read: () => WatchCounts = () => ({
    open: { object: 0, namespace: 0, cluster: 0 },
    oldestMs: 0,
    silentMs: 0,
    unwatched: 0,
    waiting: 0,
  });
  new Gauge({
    name: "bunting_proxy_source_watches",
    help: "Open watches on the Kubernetes API, by what they watch: one object, a namespace, or the cluster.",
    labelNames: ["scope"],
    registers,
    collect() {
      const { open } = read();
      for (const [scope, count] of Object.entries(open)) this.set({ scope }, count);
    },
  });
  new Gauge({
    name: "bunting_proxy_source_watch_age_seconds",
    help: "Age of the oldest open watch, in seconds.",
    registers,
    collect() {
      this.set(read().oldestMs / 1_000);
    },
  });
  new Gauge({
    name: "bunting_proxy_source_watch_silence_seconds",
    help: "Longest time, in seconds, without an event on an open watch; the API server sends a bookmark every minute.",
    registers,
    collect() {
      this.set(read().silentMs / 1_000);
    },
  });
  new Gauge({
    name: "bunting_proxy_source_unwatched_topics",
    help: "Topics that are polled, because there are too many for one watch each and RBAC allows no wider one.",
    registers,
    collect() {
      this.set(read().unwatched);
    },
  });
  new Gauge({
    name: "bunting_proxy_source_waiting_topics",
    help: "Topics not known to exist that wait to be read, because too many were asked for that do not exist.",
    registers,
    collect() {
      this.set(read().waiting);
    },
  });
  const relists = new Counter({
    name: "bunting_proxy_source_relists_total",
    help: "Consistent reads of what is watched, by reason: start (the first), closed (the API server closed the watch), expired (it no longer has what came after the last event), failed, silent (nothing came for 200 s), asked (an agent holds a newer version).",
    labelNames: ["reason"],
    registers,
  });
  const events = new Counter({
    name: "bunting_proxy_source_watch_events_total",
    help: "Events of watches, by type, including those of initial reads.",
    labelNames: ["type"],
    registers,
  });
  const writtenToEvent = new HotHistogram({
    name: "bunting_proxy_source_written_to_event_seconds",
    help: "Seconds from an edit to its event, for edits with the annotation bunting.dev/written-at (ms since the epoch).",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  });
  return {
    relisted: (reason) => relists.inc({ reason }),
    watchEvent: (type) => events.inc({ type }),
    writtenToEvent: (ms) => writtenToEvent.record(ms / 1_000),
    watchCounts: (counts) => {
      read = counts;
    },
    readWatchCounts: () => read(),
  };
}
