/** Bytes of an answer that take as long to make as the rest of a small request: making some large answers in a turn would delay all else. */
export const answerBytesPerWork = 8 * 1024;

/** A connection that can be paused for the rest of a turn of the event loop, or longer. */
export interface TurnReader {
  /** Also called while the connection is paused: its engine may have read on. */
  pauseForTurn(): void;
  resumeAfterTurn(): void;
}

/** A connection's part in the turns of the event loop. */
export interface TurnShare {
  /** True while the connection is paused. */
  readonly isPaused: boolean;
  /** True if the connection has spent several shares in this turn: the rest of what was read waits for a later turn. */
  readonly hasOverspent: boolean;
  /** Counts work that the connection has caused in this turn; a request is 1. */
  spend(work: number): void;
  /** Counts bytes that were read from the connection, whatever becomes of them. */
  read(bytes: number): void;
  /** The connection has closed. */
  leave(): void;
}

/** Shares the turns of the event loop out among connections. */
export interface SharedTurns {
  /** Adds a connection from this address: addresses take turns to be read on. */
  enter(reader: TurnReader, peer: string): TurnShare;
  /** Calls back at once, or, if this turn has had its work or others wait, in a later turn. */
  admit(accept: () => void, peer: string): void;
}
