import type { SyncMetrics } from "./sync-metrics.js";

/** Counts nothing. */
export const noSyncMetrics: SyncMetrics = {
  connected: () => undefined,
  empty: () => undefined,
  stale: () => undefined,
  readUnconfirmed: () => undefined,
  speaks: () => undefined,
  messageReceived: () => undefined,
  nacked: () => undefined,
  documentReceived: () => undefined,
  documentConfirmed: () => undefined,
  sourceFailed: () => undefined,
  streamRenewed: () => undefined,
  watches: () => ({
    relisted: () => undefined,
    watchEvent: () => undefined,
    watchFailed: () => undefined,
  }),
};
