import { wireType } from "./wire-reader.js";

const initialBytes = 4 * 1024;
/** A scratch that one large message made grow beyond this is not kept. */
const maxKeptBytes = 256 * 1024;

/**
 * Writes protobuf from the last byte to the first: the length of an embedded message stands before it, and is known only once it is
 * written. So what comes last on the wire is written first, and nothing is sized, copied or shifted twice. `finish` copies the message
 * out, and the writer may be used again.
 */
export class WireWriter {
  #scratch = Buffer.allocUnsafeSlow(initialBytes);
  #at = initialBytes;

  /** Bytes written so far: a mark for `message`. */
  get written(): number {
    return this.#scratch.length - this.#at;
  }

  finish(): Buffer {
    const message = Buffer.allocUnsafe(this.written);
    this.#scratch.copy(message, 0, this.#at);
    this.reset();
    return message;
  }

  /** Forgets what was written: for a caller that failed half-way. */
  reset(): void {
    if (this.#scratch.length > maxKeptBytes) this.#scratch = Buffer.allocUnsafeSlow(initialBytes);
    this.#at = this.#scratch.length;
  }

  varintField(field: number, value: number): void {
    this.#varint(value);
    this.#varint((field << 3) | wireType.varint);
  }

  boolField(field: number, value: boolean): void {
    this.varintField(field, value ? 1 : 0);
  }

  doubleField(field: number, value: number): void {
    this.#room(8);
    this.#at -= 8;
    this.#scratch.writeDoubleLE(value, this.#at);
    this.#varint((field << 3) | wireType.fixed64);
  }

  /** An int64 that is a whole double; out of range it becomes the least. */
  int64Field(field: number, value: number): void {
    if (value >= 0 && value <= 0x7fffffff) {
      this.varintField(field, value);
      return;
    }
    const [low, high] = int64Halves(value);
    this.#varint64(low, high);
    this.#varint((field << 3) | wireType.varint);
  }

  stringField(field: number, value: string): void {
    const before = this.written;
    this.#string(value);
    this.message(field, before);
  }

  bytesField(field: number, value: Uint8Array): void {
    this.bytes(value);
    this.#varint(value.length);
    this.#varint((field << 3) | wireType.bytes);
  }

  /** Bytes as they are, without tag or length. */
  bytes(value: Uint8Array): void {
    this.#room(value.length);
    this.#at -= value.length;
    this.#scratch.set(value, this.#at);
  }

  /** Makes what was written since the mark `before` an embedded message (or string). */
  message(field: number, before: number): void {
    this.#varint(this.written - before);
    this.#varint((field << 3) | wireType.bytes);
  }

  #string(value: string): void {
    const length = value.length;
    if (length <= 32) {
      this.#room(length);
      let at = this.#at;
      let i = length;
      while (i > 0) {
        const unit = value.charCodeAt(--i);
        if (unit >= 0x80) break;
        this.#scratch[--at] = unit;
        if (i === 0) {
          this.#at = at;
          return;
        }
      }
      if (length === 0) return;
    }
    const bytes = Buffer.byteLength(value);
    this.#room(bytes);
    this.#at -= bytes;
    this.#scratch.write(value, this.#at, bytes, "utf8");
  }

  #varint(value: number): void {
    this.#room(5);
    if (value < 0x80) {
      this.#scratch[--this.#at] = value;
      return;
    }
    let size = 1;
    for (let rest = value >>> 7; rest !== 0; rest >>>= 7) size++;
    this.#at -= size;
    let at = this.#at;
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) this.#scratch[at++] = (rest & 0x7f) | 0x80;
    this.#scratch[at] = rest;
  }

  /** The 64-bit varint of two unsigned halves. */
  #varint64(low: number, high: number): void {
    const bytes: number[] = [];
    let [lo, hi] = [low, high];
    while (hi !== 0 || lo > 0x7f) {
      bytes.push((lo & 0x7f) | 0x80);
      lo = ((lo >>> 7) | (hi << 25)) >>> 0;
      hi >>>= 7;
    }
    bytes.push(lo);
    this.bytes(Buffer.from(bytes));
  }

  #room(bytes: number): void {
    if (this.#at >= bytes) return;
    const written = this.written;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#scratch.length * 2, written + bytes));
    this.#scratch.copy(grown, grown.length - written, this.#at);
    this.#scratch = grown;
    this.#at = grown.length - written;
  }
}

const twoTo63 = 2 ** 63;

function int64Halves(value: number): readonly [low: number, high: number] {
  // What Go makes of them, and so flagd.
  if (value >= twoTo63 || value < -twoTo63) return [0, 0x80000000];
  // ToUint32 is exact for every whole double.
  const low = value >>> 0;
  return [low, ((value - low) / 0x1_0000_0000) >>> 0];
}
