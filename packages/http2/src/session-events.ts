import type { RequestHead } from "./request-head.js";
import type { RefusalReason } from "./status.js";

/** Reports of a connection. */
export interface SessionEvents<Session> {
  /** A request whose headers are valid; a stream has to be added for it, or it has to be refused. */
  onRequest(session: Session, streamId: number, head: RequestHead, hasEnded: boolean): void;
  /** The peer has acknowledged our SETTINGS. */
  onSettingsAck(session: Session): void;
  /** It is being ended, because its peer violated HTTP/2. */
  onProtocolError(): void;
  /** It is being ended, because of too many PING or SETTINGS frames. */
  onFlood(): void;
  /** A request was refused, or ended early, because of a limit. */
  onRefused(reason: RefusalReason): void;
  /** It has begun (true), or ceased, to have a stream that is served. */
  onServed(session: Session, isServed: boolean): void;
  /** Reading goes on after it was paused for the rest of a turn of the event loop, or longer. */
  onReadingResumed(): void;
  /** It has to end to free memory. */
  onEvicted(session: Session, hasTime: boolean): void;
  /** The connection has closed. */
  onClosed(session: Session): void;
}
