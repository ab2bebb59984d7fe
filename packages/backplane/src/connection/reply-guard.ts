import type { Socket } from "node:net";

/** Before a connection is used, Redis says a few words. */
const maxOpeningBytes = 64 * 1024;

/**
 * Ends a connection on which something else than replies comes. The client's parser throws at lengths that cannot be, which nobody would catch,
 * and keeps what has come of a reply for as long as the rest does not come, however much that is.
 */
export class ReplyGuard {
  readonly #maxReplyBytes: number;
  #bytes = 0;
  #maxBytes = maxOpeningBytes;

  /** @param maxReplyBytes what may come at most for one reply */
  constructor(maxReplyBytes: number) {
    this.#maxReplyBytes = maxReplyBytes;
  }

  /** Stands before what reads the stream now, once it is connected. */
  watch(stream: Socket): void {
    const readers = stream.listeners("data") as ((chunk: Buffer) => void)[];
    stream.removeAllListeners("data");
    stream.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      try {
        if (this.#bytes > this.#maxBytes)
          throw new Error(`${this.#bytes} bytes came without the end of a reply`);
        for (const read of readers) read.call(stream, chunk);
      } catch (error) {
        stream.destroy(
          new Error(`what comes is not from Redis: ${(error as Error).message}`, { cause: error }),
        );
      }
    });
  }

  /** The connection can be used: larger replies may come. */
  opened(): void {
    this.#maxBytes = this.#maxReplyBytes;
  }

  /** A command was answered. */
  answered(): void {
    this.#bytes = 0;
  }
}
