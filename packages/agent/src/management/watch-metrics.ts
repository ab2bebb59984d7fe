import { Counter, type Registry } from "@bunting/runtime";
import type { FeatureFlagWatchMetrics } from "../sync/sync-metrics.js";

/** Those of the proxy, `bunting_proxy_source_*`, for an agent that watches the API server itself. */
export function featureFlagWatchMetrics(registry: Registry): FeatureFlagWatchMetrics {
  const registers = [registry];
  const relists = new Counter({
    name: "bunting_agent_source_relists_total",
    help: "Consistent reads of what is watched, by reason: start (the first), closed (the API server closed the watch), expired (it no longer has what came after the last event), failed, silent (nothing came for 200 s); with a source of provider kubernetes.",
    labelNames: ["reason"],
    registers,
  });
  const events = new Counter({
    name: "bunting_agent_source_watch_events_total",
    help: "Events of watches, by type, including those of initial reads; with a source of provider kubernetes.",
    labelNames: ["type"],
    registers,
  });
  const errors = new Counter({
    name: "bunting_agent_source_errors_total",
    help: "Times a FeatureFlag could not be read or watched, by kind; the last flags are still served. With a source of provider kubernetes.",
    labelNames: ["kind"],
    registers,
  });
  return {
    relisted: (reason) => relists.inc({ reason }),
    watchEvent: (type) => events.inc({ type }),
    watchFailed: (kind) => errors.inc({ kind }),
  };
}
