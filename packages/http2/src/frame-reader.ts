import { GatheredBytes } from "@bunting/runtime";
import { h2Error, frameFlag, frameHeadBytes, frameType, maxFrameBytes } from "./frames.js";

/** Receives the frames of a connection, in order. Arguments are valid during the call only. */
export interface FrameSink {
  /** True if nothing more is to be read for now. */
  readonly hasEnough: boolean;
  /** A header block, whole: the bytes between two offsets. */
  onHeaders(streamId: number, flags: number, bytes: Buffer, start: number, end: number): void;
  /** A piece of DATA; `endsStream` is that of its frame's last piece. `flowBytes` count for flow control, with padding. */
  onData(streamId: number, piece: Buffer, flowBytes: number, endsStream: boolean): void;
  /** Any other frame of a known type, the size of which is valid. */
  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void;
  /** A frame of an unknown type. */
  onIgnored(): void;
  /** The buffered bytes of incomplete frames and header blocks have changed by so many; fewer, if negative. */
  onBufferedChange(change: number): void;
  /** The frames are invalid: nothing that follows can be understood. */
  onInvalid(code: number, reason: string): void;
}

/** CONTINUATION frames of one block: a block of 128 KB needs as many. */
const maxContinuations = 8;
/** Far more than there are settings. */
const maxSettingsBytes = 32 * 6;
/** Sizes that a frame of each type must have; -1 for any. */
const sizes: Readonly<Record<number, number>> = {
  [frameType.priority]: 5,
  [frameType.rstStream]: 4,
  [frameType.ping]: 8,
  [frameType.windowUpdate]: 4,
};

/**
 * Cuts the bytes of a client into frames, and joins header blocks (RFC 9113 4). DATA is passed on as it arrives; other
 * frames are buffered until they are complete.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  #isStopped = false;
  #head: Buffer | undefined;
  #headBytes = 0;
  // The frame whose payload is being read.
  #type = 0;
  #flags = 0;
  #streamId = 0;
  #leftBytes = 0;
  #paddingBytes = 0;
  #isPaddingKnown = true;
  #gathered: GatheredBytes | undefined;
  #bufferedBytes = 0;
  /** The block that CONTINUATION has to follow, and its stream; 0 without one. */
  #block: GatheredBytes | undefined;
  #blockStreamId = 0;
  #blockFlags = 0;
  #continuations = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** True in the middle of a header block. */
  get isInHeaders(): boolean {
    return (
      this.#blockStreamId !== 0 ||
      (this.#leftBytes > 0 && (this.#type === frameType.headers || this.#type === frameType.continuation))
    );
  }

  /** Reads nothing more, and drops what is buffered. */
  stop(): void {
    this.#isStopped = true;
    this.#gathered = undefined;
    this.#block = undefined;
    this.#reportBuffered();
  }

  /** Returns the rest of the chunk, if the sink has enough before its end. */
  push(chunk: Buffer): Buffer | undefined {
    let at = 0;
    while (at < chunk.length && !this.#isStopped) {
      if (this.#sink.hasEnough) return chunk.subarray(at);
      if (this.#leftBytes > 0) {
        at = this.#type === frameType.data ? this.#readData(chunk, at) : this.#readPayload(chunk, at);
        continue;
      }
      if (this.#headBytes === 0 && chunk.length - at >= frameHeadBytes) {
        this.#begin(chunk, at);
        at += frameHeadBytes;
      } else {
        const head = (this.#head ??= Buffer.allocUnsafeSlow(frameHeadBytes));
        const copied = chunk.copy(head, this.#headBytes, at, at + frameHeadBytes - this.#headBytes);
        this.#headBytes += copied;
        at += copied;
        if (this.#headBytes < frameHeadBytes) return undefined;
        this.#headBytes = 0;
        this.#begin(head, 0);
      }
    }
    return undefined;
  }

  #begin(head: Buffer, at: number): void {
    const length = ((head[at] ?? 0) << 16) | ((head[at + 1] ?? 0) << 8) | (head[at + 2] ?? 0);
    this.#type = head[at + 3] ?? 0;
    this.#flags = head[at + 4] ?? 0;
    this.#streamId =
      (((head[at + 5] ?? 0) & 0x7f) << 24) |
      ((head[at + 6] ?? 0) << 16) |
      ((head[at + 7] ?? 0) << 8) |
      (head[at + 8] ?? 0);
    const problem = this.#check(length);
    if (problem !== undefined) {
      this.#sink.onInvalid(...problem);
      return;
    }
    this.#leftBytes = length;
    if (this.#type > frameType.continuation) this.#sink.onIgnored();
    else if (this.#type === frameType.data) {
      this.#paddingBytes = 0;
      this.#isPaddingKnown = (this.#flags & frameFlag.padded) === 0;
      if (length === 0) this.#sink.onData(this.#streamId, nothing, 0, this.#endsStream);
    } else if (length === 0) this.#take(nothing, 0, 0);
  }

  get #endsStream(): boolean {
    return (this.#flags & frameFlag.endStream) !== 0;
  }

  #check(length: number): readonly [code: number, reason: string] | undefined {
    const type = this.#type;
    if (length > maxFrameBytes) return [h2Error.FRAME_SIZE_ERROR, "the frame is too large"];
    if (this.#blockStreamId !== 0) {
      if (type !== frameType.continuation || this.#streamId !== this.#blockStreamId)
        return [h2Error.PROTOCOL_ERROR, "CONTINUATION must follow"];
      if (++this.#continuations > maxContinuations)
        return [h2Error.ENHANCE_YOUR_CALM, "the header block has too many frames"];
      return undefined;
    }
    const size = sizes[type];
    if (size !== undefined && length !== size)
      return [h2Error.FRAME_SIZE_ERROR, "the frame has a wrong size"];
    const isOfConnection =
      type === frameType.settings || type === frameType.ping || type === frameType.goaway;
    const isOfStream = type <= frameType.rstStream || type === frameType.pushPromise;
    if (isOfConnection ? this.#streamId !== 0 : isOfStream && this.#streamId === 0)
      return [h2Error.PROTOCOL_ERROR, "the frame has a wrong stream"];
    switch (type) {
      case frameType.continuation:
        return [h2Error.PROTOCOL_ERROR, "CONTINUATION continues nothing"];
      case frameType.pushPromise:
        return [h2Error.PROTOCOL_ERROR, "a client cannot push"];
      case frameType.data:
        if ((this.#flags & frameFlag.padded) !== 0 && length === 0)
          return [h2Error.FRAME_SIZE_ERROR, "the frame has no padding"];
        return undefined;
      case frameType.settings:
        if (length % 6 !== 0 || ((this.#flags & frameFlag.ack) !== 0 && length > 0))
          return [h2Error.FRAME_SIZE_ERROR, "SETTINGS has a wrong size"];
        return length > maxSettingsBytes ? [h2Error.ENHANCE_YOUR_CALM, "too many settings"] : undefined;
      case frameType.goaway:
        return length < 8 ? [h2Error.FRAME_SIZE_ERROR, "GOAWAY has a wrong size"] : undefined;
      default:
        return undefined;
    }
  }

  #readData(chunk: Buffer, start: number): number {
    let at = start;
    if (!this.#isPaddingKnown) {
      this.#isPaddingKnown = true;
      this.#paddingBytes = chunk[at++] ?? 0;
      this.#leftBytes--;
      if (this.#paddingBytes > this.#leftBytes) {
        this.#sink.onInvalid(h2Error.PROTOCOL_ERROR, "more padding than frame");
        return at;
      }
      if (at === chunk.length || this.#leftBytes === 0) {
        this.#sink.onData(this.#streamId, nothing, 1, this.#leftBytes === 0 && this.#endsStream);
        return at;
      }
    }
    const flowStart = start;
    const contentBytes = Math.min(this.#leftBytes - this.#paddingBytes, chunk.length - at);
    const piece = contentBytes > 0 ? chunk.subarray(at, at + contentBytes) : nothing;
    at += Math.max(contentBytes, 0);
    this.#leftBytes -= Math.max(contentBytes, 0);
    if (this.#leftBytes <= this.#paddingBytes) {
      const padding = Math.min(this.#leftBytes, chunk.length - at);
      this.#paddingBytes -= padding;
      this.#leftBytes -= padding;
      at += padding;
    }
    this.#sink.onData(this.#streamId, piece, at - flowStart, this.#leftBytes === 0 && this.#endsStream);
    return at;
  }

  #readPayload(chunk: Buffer, at: number): number {
    const end = at + this.#leftBytes;
    if (end <= chunk.length && this.#gathered === undefined) {
      this.#leftBytes = 0;
      this.#take(chunk, at, end);
      return end;
    }
    const until = Math.min(end, chunk.length);
    this.#leftBytes = end - until;
    if (this.#type > frameType.continuation) return until;
    const gathered = (this.#gathered ??= new GatheredBytes());
    gathered.push(chunk.subarray(at, until));
    if (this.#leftBytes > 0) this.#reportBuffered();
    else {
      this.#gathered = undefined;
      const payload = gathered.take();
      this.#reportBuffered();
      this.#take(payload, 0, payload.length);
    }
    return until;
  }

  /** Takes a whole payload. */
  #take(bytes: Buffer, start: number, end: number): void {
    switch (this.#type) {
      case frameType.headers:
        this.#takeHeaders(bytes, start, end);
        break;
      case frameType.continuation:
        this.#takeFragment(bytes, start, end);
        break;
      default:
        if (this.#type < frameType.continuation)
          this.#sink.onFrame(this.#type, this.#flags, this.#streamId, bytes.subarray(start, end));
    }
  }

  #takeHeaders(bytes: Buffer, start: number, end: number): void {
    let from = start;
    let to = end;
    if ((this.#flags & frameFlag.padded) !== 0) to -= bytes[from++] ?? 0;
    if ((this.#flags & frameFlag.priority) !== 0) {
      from += 5;
      // Priorities are ignored, but for this.
      if (from <= to && (bytes.readUInt32BE(from - 5) & 0x7fffffff) === this.#streamId) {
        this.#sink.onInvalid(h2Error.PROTOCOL_ERROR, "the stream depends on itself");
        return;
      }
    }
    if (from > to || (start === end && from > start)) {
      this.#sink.onInvalid(h2Error.PROTOCOL_ERROR, "more padding than frame");
      return;
    }
    if ((this.#flags & frameFlag.endHeaders) !== 0) {
      this.#sink.onHeaders(this.#streamId, this.#flags, bytes, from, to);
      return;
    }
    this.#blockStreamId = this.#streamId;
    this.#blockFlags = this.#flags;
    this.#continuations = 0;
    this.#block = new GatheredBytes();
    this.#block.push(bytes.subarray(from, to));
    this.#reportBuffered();
  }

  #takeFragment(bytes: Buffer, start: number, end: number): void {
    const block = this.#block;
    if (block === undefined) return;
    block.push(bytes.subarray(start, end));
    if ((this.#flags & frameFlag.endHeaders) === 0) {
      this.#reportBuffered();
      return;
    }
    const streamId = this.#blockStreamId;
    const whole = block.take();
    this.#block = undefined;
    this.#blockStreamId = 0;
    this.#reportBuffered();
    this.#sink.onHeaders(streamId, this.#blockFlags, whole, 0, whole.length);
  }

  /** Reports by how much the buffered bytes have changed. */
  #reportBuffered(): void {
    const bytes = (this.#gathered?.allocatedBytes ?? 0) + (this.#block?.allocatedBytes ?? 0);
    if (bytes === this.#bufferedBytes) return;
    const change = bytes - this.#bufferedBytes;
    this.#bufferedBytes = bytes;
    this.#sink.onBufferedChange(change);
  }
}

const nothing = Buffer.alloc(0);
