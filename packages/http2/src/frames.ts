/** The frames of HTTP/2 (RFC 9113 6), and the numbers in them. */

export const frameHeadBytes = 9;
/** Size limit of frames in both directions; larger ones have no use (SETTINGS_MAX_FRAME_SIZE). */
export const maxFrameBytes = 16_384;
/** The windows of streams and connections until the peer announces others. */
export const initialWindowBytes = 65_535;
export const maxWindowBytes = 2 ** 31 - 1;

export const frameType = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  rstStream: 0x3,
  settings: 0x4,
  pushPromise: 0x5,
  ping: 0x6,
  goaway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
} as const;

export const frameFlag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const setting = {
  headerTableSize: 0x1,
  enablePush: 0x2,
  maxConcurrentStreams: 0x3,
  initialWindowSize: 0x4,
  maxFrameSize: 0x5,
  maxHeaderListSize: 0x6,
} as const;

export const h2Error = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  SETTINGS_TIMEOUT: 0x4,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
} as const;

export type ErrorName = keyof typeof h2Error;

/** The error of a connection whose SETTINGS have an invalid value (RFC 9113 6.5.2); undefined for valid ones, and for unknown settings. */
export function settingProblem(id: number, value: number): number | undefined {
  switch (id) {
    case setting.enablePush:
      return value > 1 ? h2Error.PROTOCOL_ERROR : undefined;
    case setting.initialWindowSize:
      return value > maxWindowBytes ? h2Error.FLOW_CONTROL_ERROR : undefined;
    case setting.maxFrameSize:
      return value < maxFrameBytes || value > 2 ** 24 - 1 ? h2Error.PROTOCOL_ERROR : undefined;
    default:
      return undefined;
  }
}

/** Writes the head of a frame; returns the offset behind it. */
export function writeHead(
  into: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): number {
  into[at] = length >>> 16;
  into[at + 1] = length >>> 8;
  into[at + 2] = length;
  into[at + 3] = type;
  into[at + 4] = flags;
  into[at + 5] = streamId >>> 24;
  into[at + 6] = streamId >>> 16;
  into[at + 7] = streamId >>> 8;
  into[at + 8] = streamId;
  return at + frameHeadBytes;
}

function frame(type: number, flags: number, streamId: number, payloadBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeadBytes + payloadBytes);
  writeHead(bytes, 0, payloadBytes, type, flags, streamId);
  return bytes;
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const bytes = frame(frameType.settings, 0, 0, settings.length * 6);
  for (const [index, [id, value]] of settings.entries()) {
    bytes.writeUInt16BE(id, frameHeadBytes + index * 6);
    bytes.writeUInt32BE(value, frameHeadBytes + index * 6 + 2);
  }
  return bytes;
}

export const settingsAck = frame(frameType.settings, frameFlag.ack, 0, 0);

/** @param payload eight bytes */
export function pingFrame(payload: Uint8Array, isAck: boolean): Buffer {
  const bytes = frame(frameType.ping, isAck ? frameFlag.ack : 0, 0, 8);
  bytes.set(payload, frameHeadBytes);
  return bytes;
}

export function rstStreamFrame(streamId: number, code: number): Buffer {
  const bytes = frame(frameType.rstStream, 0, streamId, 4);
  bytes.writeUInt32BE(code, frameHeadBytes);
  return bytes;
}

export function windowUpdateFrame(streamId: number, increment: number): Buffer {
  const bytes = frame(frameType.windowUpdate, 0, streamId, 4);
  bytes.writeUInt32BE(increment, frameHeadBytes);
  return bytes;
}

/** @param reason for people who debug their client */
export function goawayFrame(lastStreamId: number, code: number, reason: string): Buffer {
  const bytes = frame(frameType.goaway, 0, 0, 8 + reason.length);
  bytes.writeUInt32BE(lastStreamId, frameHeadBytes);
  bytes.writeUInt32BE(code, frameHeadBytes + 4);
  bytes.write(reason, frameHeadBytes + 8, "latin1");
  return bytes;
}

/** A block that fits into one frame. */
export function headersFrame(streamId: number, block: Uint8Array, isTableUpdateDue: boolean): Buffer {
  const content = isTableUpdateDue ? withTableUpdate(block) : block;
  const bytes = frame(frameType.headers, frameFlag.endHeaders, streamId, content.length);
  bytes.set(content, frameHeadBytes);
  return bytes;
}

/** A block that announces, before its fields, that our table is empty and stays so (RFC 7541 6.3). */
export function withTableUpdate(block: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.of(0x20), block]);
}
