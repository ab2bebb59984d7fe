import { counter, defineMetrics, label, type MetricsOf } from "@bunting/runtime";

/** Metrics of an agent that watches the API server itself, as the proxy's `bunting_proxy_source_*`. Label values are of a small set. */
export const featureFlagWatchMetrics = defineMetrics({
  relisted: counter(
    "bunting_agent_source_relists_total",
    "Consistent reads of what is watched, by reason: start (the first), closed (the API server closed the watch), expired (it no longer has what came after the last event), failed, silent (nothing came for 200 s); with a source of provider kubernetes.",
    label<string>("reason"),
  ),
  watchEvent: counter(
    "bunting_agent_source_watch_events_total",
    "Events of watches, by type, including those of initial reads; with a source of provider kubernetes.",
    label<string>("type"),
  ),
  watchFailed: counter(
    "bunting_agent_source_errors_total",
    "Times a FeatureFlag could not be read or watched, by kind; the last flags are still served. With a source of provider kubernetes.",
    label<string>("kind"),
  ),
});
export type FeatureFlagWatchMetrics = MetricsOf<typeof featureFlagWatchMetrics>;
