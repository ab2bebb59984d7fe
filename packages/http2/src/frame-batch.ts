import type { Socket } from "node:net";
import type { FrameHolder } from "./held-frame.js";
import type { Segment } from "./shared-segments.js";
import { frameFlag, frameHeadBytes, frameType, maxFrameBytes, withTableUpdate, writeHead } from "./frames.js";

/** A payload of this size is not copied. */
const largeBytes = 2 * 1024;
const scratchBytes = 32 * 1024;
/** A batch is full when it has so much; then it has at most a frame more. */
const fullBytes = 256 * 1024;

/**
 * What a connection writes at once: the frames of all its streams that have something to send, in one call of the system. One batch is made at a
 * time, so all connections share the memory in which small frames are put together.
 */
class FrameBatch {
  /** True until a header block has announced that our table is empty. */
  isTableUpdateDue = false;
  segment: Segment | undefined;
  holder: FrameHolder | undefined;
  #scratch: Buffer = Buffer.alloc(0);
  #at = 0;
  /** From where on the scratch memory has not become a piece. */
  #start = 0;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #referencedBytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes in this batch of which it has a copy: heads, and what is small. */
  get copiedBytes(): number {
    return this.#bytes - this.#referencedBytes;
  }

  get isFull(): boolean {
    return this.#bytes >= fullBytes;
  }

  /** Frames that are ready to be sent. */
  raw(bytes: Uint8Array): void {
    if (bytes.length >= largeBytes) {
      this.#reference(bytes);
      return;
    }
    this.#reserve(bytes.length);
    this.#copy(bytes, 0, bytes.length);
  }

  /** DATA frames that other connections are sent as well. */
  share(segment: Segment, holder: FrameHolder): void {
    this.segment = segment;
    this.holder = holder;
    this.#reference(segment.bytes);
  }

  headers(streamId: number, fields: Uint8Array, endsStream: boolean): void {
    const block = this.isTableUpdateDue ? withTableUpdate(fields) : fields;
    this.isTableUpdateDue = false;
    let type: number = frameType.headers;
    let at = 0;
    do {
      const length = Math.min(block.length - at, maxFrameBytes);
      const isLast = at + length === block.length;
      const flags =
        (isLast ? frameFlag.endHeaders : 0) |
        (endsStream && type === frameType.headers ? frameFlag.endStream : 0);
      this.#reserve(frameHeadBytes + length);
      this.#head(length, type, flags, streamId);
      this.#copy(block, at, at + length);
      type = frameType.continuation;
      at += length;
    } while (at < block.length);
  }

  /** A DATA frame with the bytes between two offsets, which are not modified until the batch was sent. */
  data(streamId: number, bytes: Uint8Array, start: number, end: number, endsStream: boolean): void {
    const length = end - start;
    const isCopied = length < largeBytes;
    this.#reserve(frameHeadBytes + (isCopied ? length : 0));
    this.#head(length, frameType.data, endsStream ? frameFlag.endStream : 0, streamId);
    if (isCopied) this.#copy(bytes, start, end);
    else this.#reference(bytes.subarray(start, end));
  }

  /** Writes all to the socket, in one call. */
  writeTo(socket: Socket, onSent: ((error?: Error | null) => void) | undefined): void {
    this.#seal();
    const pieces = this.#pieces;
    this.#bytes = 0;
    this.#referencedBytes = 0;
    this.segment = undefined;
    this.holder = undefined;
    const [first] = pieces;
    if (pieces.length === 1 && first !== undefined) {
      this.#pieces.length = 0;
      socket.write(first, onSent);
      return;
    }
    this.#pieces = [];
    socket.cork();
    for (const [index, piece] of pieces.entries())
      socket.write(piece, index === pieces.length - 1 ? onSent : undefined);
    socket.uncork();
  }

  /** Drops what was not written. */
  clear(): void {
    this.#pieces = [];
    this.#bytes = 0;
    this.#referencedBytes = 0;
    this.segment = undefined;
    this.holder = undefined;
    this.#at = 0;
    this.#start = 0;
  }

  #head(length: number, type: number, flags: number, streamId: number): void {
    this.#at = writeHead(this.#scratch, this.#at, length, type, flags, streamId);
    this.#bytes += frameHeadBytes;
  }

  #copy(bytes: Uint8Array, start: number, end: number): void {
    const scratch = this.#scratch;
    let at = this.#at;
    // A call of `set` takes longer than to copy what most frames have.
    if (end - start <= 64) for (let from = start; from < end; from++) scratch[at++] = bytes[from] ?? 0;
    else {
      scratch.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end), at);
      at += end - start;
    }
    this.#at = at;
    this.#bytes += end - start;
  }

  #reference(bytes: Uint8Array): void {
    this.#seal();
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    this.#referencedBytes += bytes.length;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#scratch.length) return;
    this.#seal();
    this.#at = 0;
    this.#start = 0;
    if (this.#scratch.length === 0) this.#scratch = Buffer.allocUnsafeSlow(scratchBytes);
  }

  /** Makes a piece of what was copied. */
  #seal(): void {
    if (this.#at > this.#start) this.#pieces.push(Buffer.from(this.#scratch.subarray(this.#start, this.#at)));
    this.#at = 0;
    this.#start = 0;
  }
}

/** The one batch of the process. */
export const batch = new FrameBatch();
