import { RpcError } from "@bunting/rpc";

const padding = "=".charCodeAt(0);
/** The value of characters that base64 does not have: more than any of those that it has. */
const invalid = 0x80;
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const values = Uint8Array.from({ length: 256 }, (_, code) => {
  const value = alphabet.indexOf(String.fromCharCode(code));
  return value < 0 ? invalid : value;
});

/**
 * The bytes of a body of gRPC-Web's text form. A sender may encode any pieces of it by themselves, so padding may come wherever four
 * characters end; at the very end it may be missing.
 *
 * Not `Buffer.from`, which takes any text: it stops at the first padding, and skips what is not base64.
 *
 * @param text is overwritten: the result takes its place, so that a large body is not held twice
 * @throws RpcError INVALID_ARGUMENT
 */
export function decodeBase64(text: Buffer): Buffer {
  const valueAt = (at: number): number => values[text[at] ?? 0] ?? invalid;
  let length = 0;
  for (let at = 0; at < text.length; at += 4) {
    const characters = charactersOf(text, at);
    const first = valueAt(at);
    const second = valueAt(at + 1);
    const third = characters > 2 ? valueAt(at + 2) : 0;
    const fourth = characters > 3 ? valueAt(at + 3) : 0;
    if ((first | second | third | fourth) >= invalid) throw notBase64(text, at);
    // Never beyond what has been read.
    text[length++] = (first << 2) | (second >> 4);
    if (characters > 2) text[length++] = (second << 4) | (third >> 2);
    if (characters > 3) text[length++] = (third << 6) | fourth;
  }
  return text.subarray(0, length);
}

const encoded = new WeakMap<Uint8Array, Buffer>();

/** A frame in the text form, padded. Of a frame that many streams send there is one, which lives as long as the frame. */
export function encodeBase64(frame: Uint8Array): Buffer {
  let text = encoded.get(frame);
  if (text === undefined) {
    const { buffer, byteOffset, byteLength } = frame;
    text = Buffer.from(Buffer.from(buffer, byteOffset, byteLength).toString("base64"), "latin1");
    encoded.set(frame, text);
  }
  return text;
}

/** How many of the four characters at `at` are not padding. */
function charactersOf(text: Buffer, at: number): number {
  const count = Math.min(4, text.length - at);
  // A single character is six bits, no byte.
  if (count === 1) throw notBase64(text, at);
  if (count < 4 || text[at + 3] !== padding) return count;
  return text[at + 2] === padding ? 2 : 3;
}

/** Of the four characters at `at`, one is wrong. */
function notBase64(text: Buffer, at: number): RpcError {
  const wrong = text.subarray(at, at + 4).findIndex((character) => values[character] === invalid);
  const place = at + Math.max(0, wrong) + 1;
  return new RpcError(
    "INVALID_ARGUMENT",
    `The request can't be read: it is not base64 at character ${place}.`,
  );
}
