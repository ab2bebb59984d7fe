import { framePrefixBytes } from "./framing.js";
import type { PeerAccount } from "@bunting/http2";
import { RpcError } from "@bunting/http2/status";

const nothing = Buffer.alloc(0);
const retryPushback = { "grpc-retry-pushback-ms": "1000" };

/**
 * How malformed requests are answered. connect-go's rules are for methods that take one message: a request that is cut, or has bytes after its
 * message, is answered INVALID_ARGUMENT instead of INTERNAL or as if it were whole; and a message that is announced as too large is refused
 * only once too much of it has arrived.
 */
export type MalformedRules = "grpc-go" | "connect-go";

/** The account for the bytes of incomplete messages. */
export type GatheringAccount = Pick<PeerAccount, "gather" | "ungather">;

/**
 * Splits a stream of bytes into gRPC messages. A message that lies within one chunk, as nearly all do, is passed on as a view of the
 * chunk. The rest is copied into a buffer that grows with the bytes received: memory depends neither on the length that a prefix
 * announces nor, as it would if chunks were kept, on how many pieces a client sends.
 */
export class MessageDeframer {
  readonly #maxBytes: number;
  /** True if the announced length of a message is enough to refuse it; else only what has arrived counts. */
  readonly #believesPrefix: boolean;
  readonly #account: GatheringAccount;
  #isClosed = false;
  #gathered = nothing;
  #gatheredBytes = 0;
  /** Bytes that must be gathered before the next step. */
  #neededBytes = framePrefixBytes;

  constructor(maxBytes: number, account: GatheringAccount, malformed: MalformedRules = "grpc-go") {
    this.#maxBytes = maxBytes;
    this.#believesPrefix = malformed === "grpc-go";
    this.#account = account;
  }

  /** True between two messages. */
  get isAtBoundary(): boolean {
    return this.#gatheredBytes === 0;
  }

  /** Drops what was gathered, and what a `push` in progress has left; nothing may be pushed afterwards. */
  close(): void {
    this.#isClosed = true;
    this.#account.ungather(this.#gathered.length);
    this.#gathered = nothing;
  }

  /**
   * Throws an RpcError if a message is too large, its prefix is invalid, or the connection gathers too much; nothing may be pushed
   * afterwards.
   */
  push(chunk: Buffer, onMessage: (message: Buffer, isCompressed: boolean) => void): void {
    let rest = chunk;
    while (this.#gatheredBytes > 0 && rest.length > 0) rest = this.#complete(rest, onMessage);
    while (rest.length >= framePrefixBytes) {
      const end = framePrefixBytes + this.#readPrefix(rest);
      if (end > rest.length) {
        this.#neededBytes = end;
        break;
      }
      this.#checkSize(end - framePrefixBytes);
      onMessage(rest.subarray(framePrefixBytes, end), rest[0] === 1);
      rest = rest.subarray(end);
    }
    if (rest.length > 0) this.#gather(rest);
  }

  /** Gathers as many bytes as are needed, passes the message on if that completes it, and returns the rest of the chunk. */
  #complete(chunk: Buffer, onMessage: (message: Buffer, isCompressed: boolean) => void): Buffer {
    const missing = this.#neededBytes - this.#gatheredBytes;
    this.#gather(chunk.length > missing ? chunk.subarray(0, missing) : chunk);
    if (chunk.length < missing) return nothing;
    if (this.#neededBytes === framePrefixBytes) this.#neededBytes += this.#readPrefix(this.#gathered);
    if (this.#gatheredBytes === this.#neededBytes) {
      const frame = this.#gathered.subarray(0, this.#gatheredBytes);
      this.#account.ungather(this.#gathered.length);
      this.#gathered = nothing;
      this.#gatheredBytes = 0;
      this.#neededBytes = framePrefixBytes;
      onMessage(frame.subarray(framePrefixBytes), frame[0] === 1);
    }
    return chunk.subarray(missing);
  }

  #gather(bytes: Buffer): void {
    if (this.#isClosed) return;
    const total = this.#gatheredBytes + bytes.length;
    this.#checkSize(total - framePrefixBytes);
    if (total > this.#gathered.length) {
      const grownBytes = Math.max(total, Math.min(this.#neededBytes, 2 * total));
      if (!this.#account.gather(grownBytes, this.#gathered.length))
        throw new RpcError(
          "UNAVAILABLE",
          "this connection has too many requests that have not arrived whole",
          {
            trailers: retryPushback,
            refusal: "unfinished_messages",
          },
        );
      const grown = Buffer.allocUnsafeSlow(grownBytes);
      this.#gathered.copy(grown, 0, 0, this.#gatheredBytes);
      this.#gathered = grown;
    }
    bytes.copy(this.#gathered, this.#gatheredBytes);
    this.#gatheredBytes = total;
  }

  #readPrefix(bytes: Buffer): number {
    const flag = bytes[0] ?? 0;
    if (flag > 1)
      throw new RpcError("INTERNAL", `a gRPC frame starts with the byte ${flag}, which is neither 0 nor 1`);
    const messageBytes = bytes.readUInt32BE(1);
    if (this.#believesPrefix) this.#checkSize(messageBytes);
    return messageBytes;
  }

  #checkSize(messageBytes: number): void {
    if (messageBytes <= this.#maxBytes) return;
    const size = this.#believesPrefix ? String(messageBytes) : `at least ${messageBytes}`;
    throw new RpcError(
      "RESOURCE_EXHAUSTED",
      `the message has ${size} bytes, more than the ${this.#maxBytes} allowed`,
      { refusal: "message_size" },
    );
  }
}

/** The message of a chunk that is exactly one uncompressed frame, as nearly all requests are; undefined for any other chunk. */
export function soleMessage(chunk: Buffer, maxBytes: number): Buffer | undefined {
  const messageBytes = chunk.length - framePrefixBytes;
  if (messageBytes < 0 || messageBytes > maxBytes || chunk[0] !== 0) return undefined;
  return chunk.readUInt32BE(1) === messageBytes ? chunk.subarray(framePrefixBytes) : undefined;
}
