/** The memory budget of documents. V8 ends a process whose heap is full. */
export interface DocumentRoom {
  /** May collect garbage, if that might help. */
  has(bytes: number): boolean;
  /** Garbage does not count as free. */
  readonly freeBytes: number;
}

/** For processes that read only what they have written. */
export const unlimitedRoom: DocumentRoom = { has: () => true, freeBytes: Infinity };
