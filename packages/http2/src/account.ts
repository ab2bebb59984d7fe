/** Bytes of an open stream without its headers. */
export const streamBytes = 6 * 1024;

/** Ledger of the memory of one connection: everything that a peer can make grow is charged while it exists. */
export interface PeerAccount {
  /** Adds bytes allocated for this peer. Over budget, this or a greedier connection ends soon. Never throws. */
  charge(bytes: number): void;
  /** Takes back what was charged. */
  release(bytes: number): void;
  /**
   * Charges an incomplete request that now takes `bytes` instead of `before`. False, without effect, if the incomplete
   * requests of the connection take too much.
   */
  gather(bytes: number, before: number): boolean;
  /** Takes back what was gathered. */
  ungather(bytes: number): void;
  /** A request of this connection has begun. */
  begin(): void;
  /** A request that has begun is over. */
  finish(): void;
  /** A request that never began, because nobody served it, is over. */
  drop(): void;
  /** The answer to a request that has begun goes on whenever something happens: it is a stream of events. */
  beginStream(): void;
  /** A stream of events is over; its request is finished at about the same time. */
  endStream(): void;
  readonly bytes: number;
}

/** The account of a connection, which is closed with it. */
export interface OpenAccount extends PeerAccount {
  /** False if it is not part of any sum, or of that of connections which are being ended only. */
  readonly isCounted: boolean;
  /** True while no request is open. */
  readonly isIdle: boolean;
  /** To be called when the connection has closed; what is still charged is dropped. */
  close(): void;
}

/** Ends a connection; with `hasTime`, its streams may first get the reason. As with CloseListener, an object spares a function for each. */
export type EvictionListener = ((hasTime: boolean) => void) | { evict(hasTime: boolean): void };

/** The accounts of all connections, which share one budget. */
export interface AccountBook {
  /** True if there is room for one more connection of the address, after others were ended for it if that helps. */
  makeRoom(address?: string): boolean;
  open(end: EvictionListener, address: string): OpenAccount;
  /** The account of a connection that is refused: it counts for nothing. */
  openUncounted(): OpenAccount;
}
