/** A connection whose reading can be held. */
export interface TurnReader {
  /** Also called while reading is held, because the engine may have read on. */
  holdReading(): void;
  continueReading(): void;
}

/** A connection's part in the turns of the event loop. */
export interface TurnShare {
  /** True while nothing is read from the connection. */
  readonly isHeld: boolean;
  /** True if the connection has spent several times its share in this turn: the rest of what was read is to be handled in a later one. */
  readonly hasOverspent: boolean;
  /** Counts work that the connection has caused in this turn; a request is 1. */
  spend(work: number): void;
  /** The connection has closed. */
  leave(): void;
}

/** Shares the turns of the event loop out among connections. */
export interface SharedTurns {
  /** Adds a connection. */
  enter(reader: TurnReader): TurnShare;
  /** Calls back at once, or, if this turn has had its work or others wait, in a later turn. */
  admit(accept: () => void): void;
}
