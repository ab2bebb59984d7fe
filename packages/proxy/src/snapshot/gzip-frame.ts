import { onNextTurn } from "@bunting/runtime";
import { gzip, gzipSync } from "node:zlib";
import { frameMessage, framePrefixBytes } from "@bunting/rpc";

/** Waits for a frame that is being compressed. */
export interface FrameWaiter {
  /** The frame is ready. Must not throw. */
  frameReady(): void;
}

/** A smaller message fits into a packet or two as it is: compression gains next to nothing. */
const minMessageBytes = 1_024;
/**
 * Up to this size compressing takes about as long (0.4 ms) as a round trip to the thread pool, and does not delay file reads, which use the
 * same pool. A larger message (1 MB: 3 ms) would hold up the streams that take it uncompressed.
 */
const maxSyncMessageBytes = 128 * 1_024;
/** Waiters called in one turn of the event loop, as many as in a fan-out. */
const waitersPerTurn = 256;

/**
 * A frame for streams that accept gzip: made once, on first use, and shared by all of them. It is the plain frame where compressing gains
 * nothing, which clients see by the compressed flag of the frame.
 */
export class GzipFrame {
  readonly #plain: Buffer;
  #frame: Buffer | undefined;
  #waiting: FrameWaiter[] | undefined;

  /** @param plain a complete gRPC frame of an uncompressed message. */
  constructor(plain: Buffer) {
    this.#plain = plain;
  }

  /** The frame, always the same object. Undefined while it is being made: then `waiter` is called when it is ready, and takes it again. */
  take(waiter: FrameWaiter): Buffer | undefined {
    if (this.#frame !== undefined) return this.#frame;
    if (this.#waiting === undefined) {
      const message = this.#plain.subarray(framePrefixBytes);
      if (message.length < minMessageBytes) this.#frame = this.#plain;
      else if (message.length <= maxSyncMessageBytes) this.#frame = this.#smaller(gzipSync(message));
      if (this.#frame !== undefined) return this.#frame;
      this.#waiting = [];
      gzip(message, (error, compressed) => {
        // Fails only for lack of memory; then all streams get the plain frame.
        this.#frame = error === null ? this.#smaller(compressed) : this.#plain;
        this.#callWaiters(0);
      });
    }
    this.#waiting.push(waiter);
    return undefined;
  }

  #smaller(compressed: Buffer): Buffer {
    const isSmaller = compressed.length < this.#plain.length - framePrefixBytes;
    return isSmaller ? frameMessage(compressed, true) : this.#plain;
  }

  #callWaiters(from: number): void {
    const waiting = this.#waiting ?? [];
    const until = Math.min(waiting.length, from + waitersPerTurn);
    for (const waiter of waiting.slice(from, until)) waiter.frameReady();
    if (until < waiting.length) onNextTurn(() => this.#callWaiters(until));
    else this.#waiting = undefined;
  }
}

/** True if a `grpc-accept-encoding` header lists gzip. Stock flagd (grpc-go) lists nothing, and fails on compressed messages. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  return acceptEncoding !== undefined && /(?:^|,)\s*gzip\s*(?:,|$)/.test(acceptEncoding);
}
