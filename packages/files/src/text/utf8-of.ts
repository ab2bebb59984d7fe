import { isUtf8 } from "node:buffer";

/** What is said of bytes that are no text. */
export const notText = "it is not UTF-8 text, nor UTF-16 with a byte order mark";

/**
 * The bytes of a text of flags as UTF-8 without a byte order mark, for all readers: editors of Windows write that mark, and PowerShell UTF-16.
 * Undefined if they are neither. UTF-8 is not copied.
 */
export function utf8Of(bytes: Buffer): Buffer | undefined {
  const [first, second, third] = bytes;
  if (first === 0xff && second === 0xfe) return ofUtf16(bytes, "utf-16le");
  if (first === 0xfe && second === 0xff) return ofUtf16(bytes, "utf-16be");
  const isMarked = first === 0xef && second === 0xbb && third === 0xbf;
  const text = isMarked ? bytes.subarray(3) : bytes;
  return isUtf8(text) ? text : undefined;
}

/** The decoder leaves the mark out. */
function ofUtf16(bytes: Buffer, encoding: "utf-16le" | "utf-16be"): Buffer | undefined {
  try {
    return Buffer.from(new TextDecoder(encoding, { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
