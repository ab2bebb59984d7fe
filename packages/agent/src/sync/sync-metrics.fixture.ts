import { syncMetrics } from "./sync-metrics.js";

/** Metrics that no Prometheus reads. */
export const noSyncMetrics = syncMetrics();
