/** The few HTTP/2 frames (RFC 9113) that a subscriber and the floor server write, and the numbers they need for reading. */

export const frameHeaderBytes = 9;

export const frameType = {
  data: 0x0,
  headers: 0x1,
  rstStream: 0x3,
  settings: 0x4,
  pushPromise: 0x5,
  ping: 0x6,
  goaway: 0x7,
  windowUpdate: 0x8,
} as const;

export const frameFlag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8 } as const;

/** The initial window, unless SETTINGS set another. */
export const defaultWindowBytes = 65_535;

export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const settingEnablePush = 0x2;
const settingInitialWindowSize = 0x4;

export const settingsAck = frame(frameType.settings, frameFlag.ack, 0, Buffer.alloc(0));

/** Connection preface, SETTINGS, and the WINDOW_UPDATE that opens the connection's window as wide as a stream's. */
export function connectionOpening(windowBytes: number): Buffer {
  const settings = Buffer.alloc(12);
  settings.writeUInt16BE(settingEnablePush, 0);
  settings.writeUInt32BE(0, 2);
  settings.writeUInt16BE(settingInitialWindowSize, 6);
  settings.writeUInt32BE(windowBytes, 8);
  const opening = [preface, frame(frameType.settings, 0, 0, settings)];
  if (windowBytes > defaultWindowBytes) opening.push(windowUpdate(0, windowBytes - defaultWindowBytes));
  return Buffer.concat(opening);
}

export interface GrpcRequest {
  readonly streamId: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** gRPC messages with their prefixes. */
  readonly opening: Uint8Array;
  /** Whether the client sends nothing after these. */
  readonly isHalfClosed: boolean;
}

/** HEADERS and the first DATA frame of a gRPC call. */
export function grpcRequest({ streamId, headers, opening, isHalfClosed }: GrpcRequest): Buffer {
  const block = Buffer.concat(headers.map(([name, value]) => literalHeader(name, value)));
  return Buffer.concat([
    frame(frameType.headers, frameFlag.endHeaders, streamId, block),
    dataFrame(streamId, opening, isHalfClosed),
  ]);
}

export function dataFrame(streamId: number, payload: Uint8Array, endsStream: boolean): Buffer {
  return frame(frameType.data, endsStream ? frameFlag.endStream : 0, streamId, payload);
}

export const windowUpdateBytes = frameHeaderBytes + 4;

/** Writes a WINDOW_UPDATE into the buffer at the offset; stream 0 is the connection. */
export function writeWindowUpdate(buffer: Buffer, at: number, streamId: number, bytes: number): void {
  buffer.writeUIntBE(4, at, 3);
  buffer.writeUInt8(frameType.windowUpdate, at + 3);
  buffer.writeUInt8(0, at + 4);
  buffer.writeUInt32BE(streamId, at + 5);
  buffer.writeUInt32BE(bytes, at + frameHeaderBytes);
}

export function pingAck(opaque: Uint8Array): Buffer {
  return frame(frameType.ping, frameFlag.ack, 0, opaque);
}

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(frameHeaderBytes + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes.writeUInt8(type, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(streamId, 5);
  bytes.set(payload, frameHeaderBytes);
  return bytes;
}

export function windowUpdate(streamId: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(windowUpdateBytes);
  writeWindowUpdate(buffer, 0, streamId, bytes);
  return buffer;
}

/** A literal header field without indexing, new name, no Huffman code (RFC 7541 6.2.2). */
function literalHeader(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0x00), literalString(name), literalString(value)]);
}

function literalString(text: string): Buffer {
  const bytes = Buffer.from(text);
  const maxShortLength = 126;
  if (bytes.length <= maxShortLength) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const continued: number[] = [0x7f];
  let rest = bytes.length - 0x7f;
  for (; rest >= 0x80; rest >>>= 7) continued.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from(continued), Buffer.of(rest), bytes]);
}
