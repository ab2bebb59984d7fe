import type { StoreMetrics } from "./store-metrics.js";

/** Counts nothing. */
export const noStoreMetrics: StoreMetrics = {
  documentApplied: () => undefined,
  documentRefused: () => undefined,
  flagsServed: () => undefined,
  flagsRejected: () => undefined,
  lastKnownGoodFailed: () => undefined,
};
