import type { Redis } from "ioredis";
import { ReplyScanner } from "./reply-scanner.js";

/** The most bytes before a connection is used: replies are short until then. */
const maxOpeningBytes = 64 * 1024;
/** The error that ioredis emits, from within its parser, for a reply to no command. */
const unrequestedReply = "Command queue state error";

/**
 * ReplyGuard ends a connection on which something else than replies comes, before the client's parser sees it.
 *
 * The attack that needs it is test/abuse/hostile-redis.test.ts: whatever answers in place of Redis announces arrays
 * within arrays, without end. ioredis's parser allocates each array as soon as it is announced, 264 MB for 11 bytes,
 * and calls itself for each level, until a RangeError that nothing catches ends the proxy. A MAC of each record does
 * not help: the parser fails before there is a record. The parser also keeps what has come of a reply for as long as the
 * rest does not come, and throws at lengths that cannot be.
 */
export class ReplyGuard {
  readonly #maxReplyBytes: number;
  readonly #scanner = new ReplyScanner(maxOpeningBytes);

  /** @param maxReplyBytes the most bytes of one reply */
  constructor(maxReplyBytes: number) {
    this.#maxReplyBytes = maxReplyBytes;
  }

  /** Guards a connection that was not opened yet. */
  watch(redis: Redis): void {
    // Later replies would be taken for those of other commands. The parser rethrows what is thrown here.
    redis.on("error", (error: Error) => {
      if (error.message.startsWith(unrequestedReply)) throw new Error("a reply came that nothing asked for");
    });
    redis.once("connect", () => this.#insert(redis.stream));
  }

  /** Allows larger replies, once the connection can be used. */
  opened(): void {
    this.#scanner.maxReplyBytes = this.#maxReplyBytes;
  }

  /** Inserts the scanner before the readers of the stream. */
  #insert(stream: Redis["stream"]): void {
    const readers = stream.listeners("data") as ((chunk: Buffer) => void)[];
    stream.removeAllListeners("data");
    stream.on("data", (chunk: Buffer) => {
      try {
        this.#scanner.scan(chunk);
        for (const read of readers) read.call(stream, chunk);
      } catch (error) {
        // The rest of this chunk is not read either: the stream has ended here.
        stream.removeAllListeners("data").resume();
        stream.destroy(
          new Error(`what comes is not from Redis: ${(error as Error).message}`, { cause: error }),
        );
      }
    });
  }
}
