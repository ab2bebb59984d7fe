import { gzip, gzipSync } from "node:zlib";
import { frameMessage, framePrefixBytes } from "@bunting/rpc";

/** Who waits for a frame that is being compressed. */
export interface FrameWaiter {
  /** The frame is there now. Must not throw. */
  frameReady(): void;
}

/** Below this a message fits a packet or two as it is: there is next to nothing to gain. */
const minMessageBytes = 1_024;
/**
 * Up to this size compressing takes about as long (0.4 ms) as handing the work to the thread pool and hearing back from it, and what has
 * to be read from disk waits in no queue behind it. A larger message (1 MB: 3 ms) would hold up those who take it as it is.
 */
const maxSyncMessageBytes = 128 * 1_024;
/** How many waiters are called in one turn of the event loop, as in a fan-out. */
const waitersPerTurn = 256;

/**
 * A frame in the form for streams that accept gzip: made once, on first use, and shared by all of them. It is the frame itself where
 * compressing gains nothing; the compressed flag is in each frame, so that needs no telling.
 */
export class GzipFrame {
  readonly #plain: Buffer;
  #frame: Buffer | undefined;
  #waiting: FrameWaiter[] | undefined;

  /** @param plain a complete gRPC frame of an uncompressed message. */
  constructor(plain: Buffer) {
    this.#plain = plain;
  }

  /** The frame, always the same; undefined while it is being made: then `waiter` is called when it is there, and takes it then. */
  take(waiter: FrameWaiter): Buffer | undefined {
    if (this.#frame !== undefined) return this.#frame;
    if (this.#waiting === undefined) {
      const message = this.#plain.subarray(framePrefixBytes);
      if (message.length < minMessageBytes) this.#frame = this.#plain;
      else if (message.length <= maxSyncMessageBytes) this.#frame = this.#smaller(gzipSync(message));
      if (this.#frame !== undefined) return this.#frame;
      this.#waiting = [];
      gzip(message, (error, compressed) => {
        // It could only be short of memory; then everyone gets the frame as it is.
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
    if (until < waiting.length) setImmediate(() => this.#callWaiters(until));
    else this.#waiting = undefined;
  }
}

/** Does a `grpc-accept-encoding` header list gzip? Stock flagd (grpc-go) lists nothing, and fails on what is compressed all the same. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  return acceptEncoding !== undefined && /(?:^|,)\s*gzip\s*(?:,|$)/.test(acceptEncoding);
}
