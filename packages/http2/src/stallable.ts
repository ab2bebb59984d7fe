import type { ResetCode } from "./transport.js";

interface Stallable {
  /** True if something has waited for the peer since this tick or before, and the peer has taken none of it since. */
  isStalledSince(tick: number): boolean;
}

/** Any request over HTTP/2. */
export interface WatchedStream extends Stallable {
  reset(code: ResetCode): void;
}

/** A connection of any protocol. */
export interface WatchedSession extends Stallable {
  readonly watchedStreams: Iterable<WatchedStream>;
  destroy(): void;
}
