import { isUtf8 } from "node:buffer";
import { RpcError } from "@bunting/rpc";
import { KeyTable } from "./key-table.js";

/** The wire types of protobuf. */
export const wireType = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/** The limit of nested groups. Groups are obsolete; only a hostile client nests them. */
const maxGroupDepth = 32;

const keys = new KeyTable();

/**
 * Reads protobuf from a request. Any bytes either parse or throw INVALID_ARGUMENT: every length is checked against the end of the enclosing
 * message, and every string must be UTF-8, as proto3 requires.
 */
export class WireReader {
  /** How many values of a Struct were read; counted by their reader. */
  values = 0;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.isBuffer(bytes)
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get at(): number {
    return this.#at;
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** A field's number and wire type, `number << 3 | type`. */
  tag(end: number): number {
    const tag = this.varint(end);
    if (tag >>> 3 === 0) throw malformed("a field has the number 0");
    return tag;
  }

  /** The lower 32 bits of a varint. */
  varint(end: number): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.#at >= end) throw malformed("it is cut short");
      const byte = this.#bytes[this.#at++] ?? 0;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw malformed("a number has more than 10 bytes");
  }

  /** True if any bit of a varint is set. */
  bool(end: number): boolean {
    const start = this.#at;
    this.varint(end);
    for (let i = start; i < this.#at; i++) if (((this.#bytes[i] ?? 0) & 0x7f) !== 0) return true;
    return false;
  }

  double(end: number): number {
    this.#take(8, end);
    return this.#bytes.readDoubleLE(this.#at - 8);
  }

  /** Reads the length of an embedded message and returns the offset of its end. */
  messageEnd(end: number): number {
    const length = this.varint(end);
    if (length > end - this.#at) throw malformed("it is cut short");
    return this.#at + length;
  }

  string(end: number): string {
    const start = this.#at;
    const stop = this.messageEnd(end);
    const first = this.#at;
    this.#at = stop;
    // Most keys and values are short and ASCII; V8 creates a one-byte string from these without decoding.
    if (stop - start <= 64 && this.#isAscii(first, stop)) return this.#bytes.toString("latin1", first, stop);
    if (!isUtf8(this.#bytes.subarray(first, stop))) throw malformed("a string in it is not UTF-8");
    return this.#bytes.toString("utf8", first, stop);
  }

  /** Reads a string that is likely to repeat. */
  key(end: number): string {
    const start = this.#at;
    const stop = this.messageEnd(end);
    const key = keys.key(this.#bytes, this.#at, stop);
    if (key !== undefined) {
      this.#at = stop;
      return key;
    }
    this.#at = start;
    return this.string(end);
  }

  /** Skips an unknown field. */
  skip(tag: number, end: number, groupDepth = 0): void {
    switch (tag & 7) {
      case wireType.varint:
        this.varint(end);
        return;
      case wireType.fixed64:
        this.#take(8, end);
        return;
      case wireType.bytes:
        this.#at = this.messageEnd(end);
        return;
      case wireType.fixed32:
        this.#take(4, end);
        return;
      case wireType.startGroup:
        this.#skipGroup(tag, end, groupDepth + 1);
        return;
      default:
        throw malformed(`it has a field of the unknown wire type ${tag & 7}`);
    }
  }

  #skipGroup(opened: number, end: number, depth: number): void {
    if (depth > maxGroupDepth) throw malformed("its groups are nested too deeply");
    for (;;) {
      const tag = this.tag(end);
      if ((tag & 7) === wireType.endGroup) {
        if (tag >>> 3 !== opened >>> 3) throw malformed("it ends a group that it did not open");
        return;
      }
      this.skip(tag, end, depth);
    }
  }

  #take(length: number, end: number): void {
    if (end - this.#at < length) throw malformed("it is cut short");
    this.#at += length;
  }

  #isAscii(from: number, to: number): boolean {
    for (let i = from; i < to; i++) if ((this.#bytes[i] ?? 0) >= 0x80) return false;
    return true;
  }
}

export function malformed(why: string): RpcError {
  return new RpcError("INVALID_ARGUMENT", `The request is not a valid protobuf message: ${why}.`);
}
