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
