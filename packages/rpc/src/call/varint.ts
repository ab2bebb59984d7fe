/** The number of bytes of a varint, for values below 2^31. */
export function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) bytes++;
  return bytes;
}

/** Writes a varint and returns the offset of its end. */
export function writeVarint(buffer: Buffer, value: number, offset: number): number {
  let rest = value;
  let at = offset;
  for (; rest > 0x7f; rest >>>= 7) at = buffer.writeUInt8((rest & 0x7f) | 0x80, at);
  return buffer.writeUInt8(rest, at);
}
