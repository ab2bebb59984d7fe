/** What the sync stage counts; the wiring backs it with real metrics. Sources are named by their place in the list. */
export interface SyncMetrics {
  /** Whether a source can be heard right now. */
  connected(sourceIndex: number, isConnected: boolean): void;
  /** A document came. */
  documentReceived(sourceIndex: number, documentBytes: number): void;
  /** A stream ended or a file could not be read; `reason` is one of a small set of words. */
  sourceFailed(sourceIndex: number, reason: string): void;
}

export const noSyncMetrics: SyncMetrics = {
  connected: () => undefined,
  documentReceived: () => undefined,
  sourceFailed: () => undefined,
};
