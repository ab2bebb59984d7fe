/** What the store counts; agent.ts passes in real metrics. Sources are identified by their place in the list. */
export interface StoreMetrics {
  /** A document was applied, and blocked the event loop for this long. */
  documentApplied(sourceIndex: number, durationMs: number, documentBytes: number): void;
  /** A document was refused as a whole; the previous one is still served. */
  documentRefused(sourceIndex: number, code: "DOCUMENT_INVALID" | "DOCUMENT_TOO_LARGE"): void;
  /** How many flags are served, and how many of a source's newest document are rejected. */
  flagsServed(total: number): void;
  flagsRejected(sourceIndex: number, current: number): void;
  /** A document could not be written to disk. */
  lastKnownGoodFailed(sourceIndex: number): void;
}
