const slots = 512;
const maxBytes = 48;

/**
 * Remembers strings of keys: requests repeat the keys of flags and contexts, and creating a string from bytes costs V8 many times what
 * comparing them does. A key has one slot, which keeps the newest key it was given: the memory is bounded, whatever clients send.
 */
export class KeyTable {
  readonly #keys: string[] = Array.from({ length: slots }, () => "");

  /** The ASCII text of `bytes[from..to)`, or undefined if it is too long to remember or not ASCII. */
  key(bytes: Buffer, from: number, to: number): string | undefined {
    if (to - from > maxBytes) return undefined;
    let hash = 0;
    for (let i = from; i < to; i++) {
      const byte = bytes[i] ?? 0;
      if (byte >= 0x80) return undefined;
      hash = (Math.imul(hash, 31) + byte) | 0;
    }
    const slot = (hash ^ (hash >>> 15)) & (slots - 1);
    const known = this.#keys[slot] ?? "";
    if (isSame(known, bytes, from, to)) return known;
    const key = bytes.toString("latin1", from, to);
    this.#keys[slot] = key;
    return key;
  }
}

function isSame(text: string, bytes: Buffer, from: number, to: number): boolean {
  const length = to - from;
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) if (text.charCodeAt(i) !== bytes[from + i]) return false;
  return true;
}
