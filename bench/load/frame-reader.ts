import { frameFlag, frameHeaderBytes, frameType } from "./http2-frames.js";

/** What a subscriber does with the frames of its server. */
export interface FrameHandler {
  /** Bytes of a DATA frame, without padding; only valid during the call. */
  onData(streamId: number, bytes: Buffer, start: number, end: number): void;
  /** A DATA frame has been read; `bytes` includes padding, as flow control counts it. */
  onDataFrame(streamId: number, frameBytes: number): void;
  onSettings(): void;
  onPing(opaque: Buffer): void;
  /** The server ended a stream or the connection; `detail` says how. */
  onEnd(detail: string): void;
}

const controlBytes = 8;

/**
 * Reads HTTP/2 frames from pieces of any size. It keeps only its position: ten
 * thousand readers share one buffer. Response headers are skipped, not decoded; the payloads show whether a subscriber got what it
 * asked for.
 */
export class FrameReader {
  readonly #handler: FrameHandler;
  #headerRead = 0;
  #length = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** Payload bytes of the frame that have not been read yet. */
  #left = 0;
  /** How many of these are padding, at the end; -1 until the byte with that length has been read. */
  #padding = 0;
  #control: Buffer | undefined;
  #controlRead = 0;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  push(bytes: Buffer, start: number, end: number): void {
    let at = start;
    while (at < end) {
      at =
        this.#headerRead < frameHeaderBytes
          ? this.#readHeader(bytes, at, end)
          : this.#readPayload(bytes, at, end);
    }
  }

  #readHeader(bytes: Buffer, start: number, end: number): number {
    let at = start;
    for (; at < end && this.#headerRead < frameHeaderBytes; at++, this.#headerRead++) {
      const byte = bytes[at] ?? 0;
      // Three bytes of length, one of type, one of flags, four of the stream id.
      if (this.#headerRead < 3) this.#length = this.#length * 256 + byte;
      else if (this.#headerRead === 3) this.#type = byte;
      else if (this.#headerRead === 4) this.#flags = byte;
      else this.#streamId = this.#streamId * 256 + byte;
    }
    if (this.#headerRead === frameHeaderBytes) {
      this.#left = this.#length;
      this.#padding = this.#type === frameType.data && (this.#flags & frameFlag.padded) !== 0 ? -1 : 0;
      if (this.#left === 0) this.#endFrame();
    }
    return at;
  }

  #readPayload(bytes: Buffer, start: number, end: number): number {
    const until = Math.min(end, start + this.#left);
    if (this.#type === frameType.data) this.#readData(bytes, start, until);
    else this.#readControl(bytes, start, until);
    this.#left -= until - start;
    if (this.#left === 0) this.#endFrame();
    return until;
  }

  #readData(bytes: Buffer, start: number, until: number): void {
    let from = start;
    let left = this.#left;
    if (this.#padding < 0) {
      this.#padding = bytes[from] ?? 0;
      from++;
      left--;
    }
    const to = Math.min(until, from + Math.max(0, left - this.#padding));
    if (to > from) this.#handler.onData(this.#streamId, bytes, from, to);
  }

  /** Keeps the first bytes of anything that is not DATA: a PING's eight, an error code. */
  #readControl(bytes: Buffer, start: number, until: number): void {
    if (this.#controlRead >= controlBytes) return;
    this.#control ??= Buffer.alloc(controlBytes);
    this.#controlRead += bytes.copy(this.#control, this.#controlRead, start, until);
  }

  #endFrame(): void {
    const control = this.#control ?? Buffer.alloc(controlBytes);
    const type = this.#type;
    const flags = this.#flags;
    const length = this.#length;
    const streamId = this.#streamId;
    this.#headerRead = 0;
    this.#length = 0;
    this.#streamId = 0;
    this.#controlRead = 0;
    if (type === frameType.data) this.#handler.onDataFrame(streamId, length);
    this.#handle(type, flags, control);
  }

  #handle(type: number, flags: number, control: Buffer): void {
    const handler = this.#handler;
    switch (type) {
      case frameType.settings:
        if ((flags & frameFlag.ack) === 0) handler.onSettings();
        return;
      case frameType.ping:
        if ((flags & frameFlag.ack) === 0) handler.onPing(control);
        return;
      case frameType.rstStream:
        handler.onEnd(`RST_STREAM, code ${control.readUInt32BE(0)}`);
        return;
      case frameType.goaway:
        handler.onEnd(`GOAWAY, code ${control.readUInt32BE(4)}`);
        return;
    }
    const canEndStream = type === frameType.data || type === frameType.headers;
    if (canEndStream && (flags & frameFlag.endStream) !== 0) handler.onEnd("the end of the stream");
  }
}
