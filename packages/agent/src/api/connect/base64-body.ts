import { RpcError } from "@bunting/rpc";

const padding = "=".charCodeAt(0);
/** Of other characters. */
const invalid = 0xff;
const values = new Uint8Array(256).fill(invalid);
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
for (let value = 0; value < alphabet.length; value++) values[alphabet.charCodeAt(value)] = value;

/**
 * The bytes of a body of gRPC-Web's text form. A sender may encode any pieces of it by themselves, so padding may come wherever four
 * characters end; at the very end it may be missing.
 *
 * Not `Buffer.from`, which takes any text: it stops at the first padding, and skips what is not base64.
 *
 * @throws RpcError INVALID_ARGUMENT
 */
export function decodeBase64(text: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(Math.ceil((text.length * 3) / 4));
  let length = 0;
  for (let at = 0; at < text.length; at += 4) {
    const characters = digits(text, at);
    let group = 0;
    for (let i = 0; i < 4; i++) {
      const value = i < characters ? (values[text[at + i] ?? 0] ?? invalid) : 0;
      if (value === invalid) throw notBase64(at + i);
      group = (group << 6) | value;
    }
    if (characters > 1) bytes[length++] = group >> 16;
    if (characters > 2) bytes[length++] = group >> 8;
    if (characters > 3) bytes[length++] = group;
  }
  return bytes.subarray(0, length);
}

/** The frame or body in the text form, padded. */
export function encodeBase64(bytes: Uint8Array): Buffer {
  return Buffer.from(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
    "latin1",
  );
}

/** How many of the four characters at `at` are not padding. */
function digits(text: Buffer, at: number): number {
  const end = Math.min(at + 4, text.length);
  let last = end;
  if (end === at + 4) while (last > at + 2 && text[last - 1] === padding) last--;
  // A single character is six bits, no byte.
  if (last - at < 2) throw notBase64(at);
  return last - at;
}

function notBase64(at: number): RpcError {
  return new RpcError(
    "INVALID_ARGUMENT",
    `The request can't be read: it is not base64 at character ${at + 1}.`,
  );
}
