import type { FlagDocument } from "@bunting/protocol";
import { mostUnreadBytes, Semaphore } from "@bunting/runtime";

/** From so many bytes on, a document takes long enough to hold everything else up: some 0.1 s for each megabyte of small flags. */
const largeBytes = 1024 * 1024;

/**
 * Large documents are read in turns of the event loop, and one after the other, so that the heap is not promised to several at once. Those that
 * wait have come whole, one for each connection, of which there may be 84: what they take is outside of the heap, and bounded here.
 */
export class LargeDocuments {
  readonly #encode: (document: FlagDocument) => Promise<void>;
  readonly #mostWaitingBytes: number;
  readonly #reading = new Semaphore(1);
  #waitingBytes = 0;

  /**
   * @param encode does in turns most of what is to be done when the document is told
   * @param mostWaitingBytes what may wait for its turn
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

  /** Whether a message of so many bytes may wait beside the others; one alone always may. */
  mayWait(bytes: number): boolean {
    return this.#waitingBytes === 0 || this.#waitingBytes + bytes <= this.#mostWaitingBytes;
  }

  /**
   * Reads a document that is to be told right after.
   *
   * @param messageBytes what the message takes that brings it, until it is read
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
