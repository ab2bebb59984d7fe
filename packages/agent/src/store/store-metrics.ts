/** What the store counts; the wiring backs it with real metrics. Sources are named by their place in the list. */
export interface StoreMetrics {
  /** A document was taken over: how long that held the event loop, and what is served now. */
  documentApplied(sourceIndex: number, durationMs: number, documentBytes: number): void;
  /** A document was refused as a whole; the one before is served on. */
  documentRefused(sourceIndex: number, code: "DOCUMENT_INVALID" | "DOCUMENT_TOO_LARGE"): void;
  /** How many flags are served, and how many of a source's newest document are not. */
  flagsServed(total: number): void;
  flagsRejected(sourceIndex: number, current: number): void;
  /** A document could not be kept on disk. */
  lastKnownGoodFailed(sourceIndex: number): void;
}

export const noStoreMetrics: StoreMetrics = {
  documentApplied: () => undefined,
  documentRefused: () => undefined,
  flagsServed: () => undefined,
  flagsRejected: () => undefined,
  lastKnownGoodFailed: () => undefined,
};
