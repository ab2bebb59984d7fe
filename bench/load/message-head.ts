/** The form of a payload: a whole document, plain or compressed (flagd.sync.v1), a snapshot or a delta (bunting.sync.v1). */
export type MessageKind = "document" | "gzip" | "snapshot" | "delta" | "other";

/**
 * What the beginning of a message says. Ten thousand subscribers get the same message in turn, so a reader keeps the last result and
 * returns it again.
 */
export interface MessageHead {
  readonly kind: MessageKind;
  /** The number that orders payloads; -1 if there is none. */
  readonly sequence: number;
  /**
   * What the subscriber sends once it has read the message to its end: a whole DATA frame of stream 1.
   *
   * @param number the message's place on the stream, from 1
   */
  readonly answer?: (number: number) => Buffer;
}

/** Reads the beginning of a message, which is at `start` … `end`. */
export type ReadHead = (bytes: Buffer, start: number, end: number, isCompressed: boolean) => MessageHead;
