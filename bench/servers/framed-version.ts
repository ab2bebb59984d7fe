import { frameHeaderBytes } from "../load/http2-frames.js";

/** Bytes of one DATA frame. Four fit into the window of 65,535 bytes with which most clients start, so no frame ever has to be split. */
const frameBytes = 16_383;

/** One version on the wire: all its DATA frames in sequence, laid out once for each stream id in use. */
export class FramedVersion {
  readonly frames: number;
  readonly #message: Buffer;
  readonly #wires = new Map<number, Buffer>();

  constructor(message: Buffer) {
    this.#message = message;
    this.frames = Math.ceil(message.length / frameBytes);
  }

  /** The frame up to which a sender may continue after `from` with a window of that many bytes. */
  lastFrameWithin(from: number, windowBytes: number): number {
    if (this.dataBytes(from, this.frames) <= windowBytes) return this.frames;
    return from + Math.floor(Math.max(0, windowBytes) / frameBytes);
  }

  /** What frames `from` … `until` take of the windows. */
  dataBytes(from: number, until: number): number {
    return Math.min(until * frameBytes, this.#message.length) - from * frameBytes;
  }

  bytesOf(streamId: number, from: number, until: number): Buffer {
    let wire = this.#wires.get(streamId);
    if (wire === undefined) this.#wires.set(streamId, (wire = this.#layOut(streamId)));
    if (from === 0 && until === this.frames) return wire;
    const step = frameHeaderBytes + frameBytes;
    return wire.subarray(from * step, Math.min(until * step, wire.length));
  }

  #layOut(streamId: number): Buffer {
    const wire = Buffer.allocUnsafeSlow(this.#message.length + this.frames * frameHeaderBytes);
    for (let index = 0, at = 0; index < this.frames; index++) {
      const length = this.dataBytes(index, index + 1);
      wire.writeUIntBE(length, at, 3);
      wire.writeUInt16BE(0, at + 3);
      wire.writeUInt32BE(streamId, at + 5);
      this.#message.copy(wire, at + frameHeaderBytes, index * frameBytes, index * frameBytes + length);
      at += frameHeaderBytes + length;
    }
    return wire;
  }
}
