import { randomBytes } from "node:crypto";

/** The opcodes of RFC 6455 that we meet. */
export const opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A frame of a client, whole and masked. */
export function encodeFrame(code: number, payload: Buffer): Buffer {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 0x10000 ? 2 : 8;
  const head = Buffer.alloc(2 + lengthBytes);
  head[0] = 0x80 | code;
  head[1] = 0x80 | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) head.writeUInt16BE(length, 2);
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  const masked = Buffer.allocUnsafe(length);
  for (let index = 0; index < length; index++) masked[index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
  return Buffer.concat([head, mask, masked]);
}

/** Called with each message, or control frame, as it is complete. */
export type OnMessage = (code: number, payload: Buffer) => void;

/**
 * Takes messages out of the frames of a server, which are not masked, chunk by chunk. It throws an Error for what is no WebSocket, or a message that is
 * too large.
 */
export function frameDecoder(maxMessageBytes: number, onMessage: OnMessage): (chunk: Buffer) => void {
  let unread: Buffer = Buffer.alloc(0);
  /** The frames so far of a message that came in several. */
  let parts: Buffer[] = [];
  let messageCode: number = opcode.continuation;

  const nextFrame = (): { readonly first: number; readonly payload: Buffer } | undefined => {
    const bytes = unread;
    if (bytes.length < 2) return undefined;
    const [first = 0, second = 0] = bytes;
    if ((first & 0x70) !== 0 || (second & 0x80) !== 0)
      throw new Error("the server sent what is no WebSocket frame");
    const short = second & 0x7f;
    const start = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (bytes.length < start) return undefined;
    const length =
      short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (length > maxMessageBytes) throw new Error(`the server sent a frame of ${length} bytes`);
    if (bytes.length < start + length) return undefined;
    unread = bytes.subarray(start + length);
    return { first, payload: bytes.subarray(start, start + length) };
  };

  const take = (first: number, payload: Buffer): void => {
    const code = first & 0x0f;
    if (code >= opcode.close) {
      onMessage(code, payload);
      return;
    }
    if (code !== opcode.continuation) {
      messageCode = code;
      parts = [];
    }
    parts.push(payload);
    const bytes = parts.reduce((sum, part) => sum + part.length, 0);
    if (bytes > maxMessageBytes) throw new Error(`the server sent a message of more than ${bytes} bytes`);
    if ((first & 0x80) === 0) return;
    const [only = payload] = parts;
    const whole = parts.length === 1 ? only : Buffer.concat(parts);
    parts = [];
    onMessage(messageCode, whole);
  };

  return (chunk) => {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
    for (let frame = nextFrame(); frame !== undefined; frame = nextFrame()) take(frame.first, frame.payload);
  };
}
