import type { FlagDocument } from "@bunting/protocol";
import { mostUnreadBytes, Semaphore } from "@bunting/runtime";

/** Size from which on a document blocks the event loop for too long: some 0.1 s per megabyte of small flags. */
const largeBytes = 1024 * 1024;

/**
 * Reads large documents in slices of the event loop, one after the other, so that the same free heap is not counted on by
 * several. Waiting messages have arrived whole, one per connection, of which there may be 84. Their bytes lie outside of
 * the heap, and this class bounds them.
 */
export class LargeDocuments {
  readonly #encode: (document: FlagDocument) => Promise<void>;
  readonly #mostWaitingBytes: number;
  readonly #reading = new Semaphore(1);
  #waitingBytes = 0;

  /**
   * @param encode does most of the work of reporting a document beforehand, in slices of the event loop
   * @param mostWaitingBytes limit of waiting messages
   */
  constructor(
    encode: (document: FlagDocument) => Promise<void> = () => Promise.resolve(),
    mostWaitingBytes = mostUnreadBytes(),
  ) {
    this.#encode = encode;
    this.#mostWaitingBytes = mostWaitingBytes;
  }

  isLarge(bytes: number): boolean {
    return bytes >= largeBytes;
  }

  /** True if the backlog has room for a message of this size. An empty backlog takes any. */
  mayWait(bytes: number): boolean {
    return this.#waitingBytes === 0 || this.#waitingBytes + bytes <= this.#mostWaitingBytes;
  }

  /**
   * Reads a document that is reported right after.
   *
   * @param messageBytes size of the message that brings it, charged to the backlog until it is read
   */
  async read(messageBytes: number, read: () => Promise<FlagDocument | undefined>): Promise<void> {
    this.#waitingBytes += messageBytes;
    try {
      await this.#reading.run(async () => {
        const document = await read();
        if (document !== undefined) await this.#encode(document);
      });
    } finally {
      this.#waitingBytes -= messageBytes;
    }
  }
}
