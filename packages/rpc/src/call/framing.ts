import { varintBytes, writeVarint } from "./varint.js";

/** The prefix of each gRPC message, in bytes: one for the flag, four for the length. */
export const framePrefixBytes = 5;

/** One gRPC frame, prefix and message, in a new buffer. `compressed`: `message` has the encoding that `grpc-encoding` names. */
export function frameMessage(message: Uint8Array, compressed = false): Buffer {
  const frame = Buffer.allocUnsafe(framePrefixBytes + message.byteLength);
  frame[0] = compressed ? 1 : 0;
  frame.writeUInt32BE(message.byteLength, 1);
  frame.set(message, framePrefixBytes);
  return frame;
}

/** A frame to be filled. */
export interface UnfilledFrame {
  readonly frame: Buffer;
  /** Where the content of the first field begins. */
  readonly start: number;
}

/**
 * The frame of a message whose first field, of this number, has so many bytes of content, which the caller writes; `following` are the fields after
 * it. One buffer of exactly the size, for what is large: not one of node's pool, whose slab a frame would keep as long as it lives.
 */
export function frameToFill(field: number, bytes: number, following: Uint8Array): UnfilledFrame {
  const start = framePrefixBytes + 1 + varintBytes(bytes);
  const frame = Buffer.allocUnsafeSlow(start + bytes + following.byteLength);
  frame[0] = 0;
  frame.writeUInt32BE(frame.byteLength - framePrefixBytes, 1);
  frame[framePrefixBytes] = (field << 3) | lengthDelimited;
  writeVarint(frame, bytes, framePrefixBytes + 1);
  frame.set(following, start + bytes);
  return { frame, start };
}

const lengthDelimited = 2;
