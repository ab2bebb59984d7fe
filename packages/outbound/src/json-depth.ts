const quote = 0x22;
const backslash = 0x5c;
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** True if the objects and lists of a text are nested in more levels. It scans the bytes without parsing, so the text need not be valid JSON. */
export function isNestedDeeper(text: Uint8Array, levels: number): boolean {
  let depth = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] ?? 0;
    if (isText) {
      if (byte === backslash) at++;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (opening.has(byte)) {
      if (++depth > levels) return true;
    } else if (closing.has(byte)) depth--;
  }
  return false;
}
