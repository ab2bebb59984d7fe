/** Bytes before each gRPC message: one flag, four of length. */
export const framePrefixBytes = 5;

/** One gRPC frame: the message behind its prefix, in a new buffer. `compressed` says that `message` is encoded as `grpc-encoding` names. */
export function frameMessage(message: Uint8Array, compressed = false): Buffer {
  const frame = Buffer.allocUnsafe(framePrefixBytes + message.byteLength);
  frame[0] = compressed ? 1 : 0;
  frame.writeUInt32BE(message.byteLength, 1);
  frame.set(message, framePrefixBytes);
  return frame;
}
