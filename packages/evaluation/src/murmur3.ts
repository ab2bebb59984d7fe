/**
 * MurmurHash3, the 32-bit x86 variant with seed 0, over the UTF-8 bytes of a text. It decides which subject gets which variant, so all
 * implementations of flagd must agree on it.
 *
 * The bytes are mixed in as they are computed, without a buffer. The text may come in two pieces, because joining them would take longer
 * than the hash.
 */
export function murmur3(text: string, continuation = ""): number {
  let hash = 0;
  let block = 0;
  let shift = 0;
  let count = 0;
  let piece = text;
  for (let pieces = 0; pieces < 2; pieces++, piece = continuation) {
    const { length } = piece;
    count += length;
    for (let i = 0; i < length; i++) {
      const unit = piece.charCodeAt(i);
      if (unit < 0x80) {
        block |= unit << shift;
        shift = (shift + 8) & 31;
        if (shift === 0) {
          hash = mix(hash, block);
          block = 0;
        }
        continue;
      }
      const point = codePointAt(piece, i);
      const size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      if (size === 4) i++;
      count += size === 4 ? 2 : size - 1;
      for (let bytes = utf8(point, size), left = size; left > 0; left--, bytes >>>= 8) {
        block |= (bytes & 0xff) << shift;
        shift = (shift + 8) & 31;
        if (shift !== 0) continue;
        hash = mix(hash, block);
        block = 0;
      }
    }
  }
  return avalanche(hash ^ scramble(block) ^ count);
}

/** Half a surrogate pair is not a character and counts as the replacement character. */
function codePointAt(text: string, index: number): number {
  const point = text.codePointAt(index) ?? 0;
  return point >= 0xd800 && point <= 0xdfff ? 0xfffd : point;
}

/** The UTF-8 bytes of a code point above ASCII, the first one in the lowest bits. */
function utf8(point: number, size: number): number {
  const last = 0x80 | (point & 0x3f);
  if (size === 2) return 0xc0 | (point >> 6) | (last << 8);
  const middle = 0x80 | ((point >> 6) & 0x3f);
  if (size === 3) return 0xe0 | (point >> 12) | (middle << 8) | (last << 16);
  return 0xf0 | (point >> 18) | ((0x80 | ((point >> 12) & 0x3f)) << 8) | (middle << 16) | (last << 24);
}

function scramble(block: number): number {
  const k = Math.imul(block, 0xcc9e2d51);
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
}

function mix(hash: number, block: number): number {
  const h = hash ^ scramble(block);
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
}

function avalanche(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
