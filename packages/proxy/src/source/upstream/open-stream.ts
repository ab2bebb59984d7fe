import type { StreamParts, SyncChannel } from "@bunting/sync-client";
import type { FirstAnswer } from "./first-answer.js";

/** A stream of a connection. Its topics are on one stream at a time; another one is about to take over, with a newer token. */
export interface OpenStream {
  readonly channel: SyncChannel;
  readonly parts: StreamParts;
  readonly send: (message: Buffer) => void;
  readonly answer: FirstAnswer;
  /** The upstream has accepted the call. */
  isOpen: boolean;
}
