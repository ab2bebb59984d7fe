import type { SyncMetrics } from "./sync-metrics.js";

/** Counts nothing. */
export const noSyncMetrics: SyncMetrics = {
  connected: () => undefined,
  empty: () => undefined,
  speaks: () => undefined,
  messageReceived: () => undefined,
  nacked: () => undefined,
  documentReceived: () => undefined,
  documentConfirmed: () => undefined,
  sourceFailed: () => undefined,
};
