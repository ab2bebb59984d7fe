const prefixBytes = 5;
/** A message may come in so many pieces of any size. */
const anyPieces = 4_096;
/** Beyond them, so many bytes a piece on average: a server fills frames of 16 KB, except at the end of a message or of a window. */
const leastAverageBytes = 256;

/**
 * Counts the pieces that a gRPC message comes in. grpc-js keeps each of them until the message is whole, and of a piece of one byte it keeps some
 * hundred: 3 MB of them would fill a heap of 256 MB, long before the message is larger than it may be.
 */
export class MessagePieces {
  #prefixRead = 0;
  #missingBytes = 0;
  #pieces = 0;
  #bytes = 0;
  #isCompressed = false;

  /** Bytes of the incomplete message so far. */
  get unfinishedBytes(): number {
    return this.#missingBytes > 0 ? this.#bytes : 0;
  }

  /** The message that comes, or came last, is compressed. */
  get isCompressed(): boolean {
    return this.#isCompressed;
  }

  /** Returns false if the message that the chunk is of comes in too many pieces. */
  take(chunk: Uint8Array): boolean {
    let at = 0;
    while (at < chunk.length)
      at += this.#prefixRead < prefixBytes ? this.#readPrefix(chunk, at) : this.#skip(chunk.length - at);
    return this.#pieces <= anyPieces || this.#bytes >= this.#pieces * leastAverageBytes;
  }

  /** One byte of the prefix: the flag, then the length. */
  #readPrefix(chunk: Uint8Array, at: number): 1 {
    if (this.#prefixRead === 0) {
      this.#isCompressed = chunk[at] !== 0;
      this.#missingBytes = 0;
    } else this.#missingBytes = this.#missingBytes * 256 + (chunk[at] ?? 0);
    this.#prefixRead++;
    this.#pieces = 0;
    this.#bytes = 0;
    if (this.#prefixRead === prefixBytes && this.#missingBytes === 0) this.#prefixRead = 0;
    return 1;
  }

  #skip(chunkBytes: number): number {
    const taken = Math.min(chunkBytes, this.#missingBytes);
    this.#pieces++;
    this.#bytes += taken;
    this.#missingBytes -= taken;
    if (this.#missingBytes === 0) this.#prefixRead = 0;
    return taken;
  }
}
