import { storeMetrics, type StoreMetrics } from "./store-metrics.js";

/** Metrics that no Prometheus reads. */
export const noStoreMetrics: StoreMetrics = storeMetrics.create();
