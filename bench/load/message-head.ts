/** What a payload is to those who count: a whole document as it is or compressed (flagd.sync.v1), a snapshot or a delta (bunting.sync.v1). */
export type MessageKind = "document" | "gzip" | "snapshot" | "delta" | "other";

/**
 * What the head of a message says. Ten thousand subscribers get the same message one after the other, so whoever reads heads keeps the last
 * result and hands it out again.
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

/** Reads the head of a message, which lies at `start` … `end`. */
export type ReadHead = (bytes: Buffer, start: number, end: number, isCompressed: boolean) => MessageHead;
