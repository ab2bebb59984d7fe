/**
 * MurmurHash3, the x86 variant of 32 bits with seed 0, over the UTF-8 bytes of a text. It decides who gets which variant, so that all
 * flagd implementations must agree on it. The bytes are never put anywhere: each is mixed in as it is worked out of the text.
 */
export function murmur3(text: string): number {
  const { length } = text;
  let hash = 0;
  let i = 0;
  for (; i + 4 <= length; i += 4) {
    const a = text.charCodeAt(i);
    const b = text.charCodeAt(i + 1);
    const c = text.charCodeAt(i + 2);
    const d = text.charCodeAt(i + 3);
    if ((a | b | c | d) > 0x7f) return hashOnwards(text, i, hash);
    hash = mix(hash, a | (b << 8) | (c << 16) | (d << 24));
  }
  let rest = 0;
  for (let j = i; j < length; j++) {
    const unit = text.charCodeAt(j);
    if (unit > 0x7f) return hashOnwards(text, i, hash);
    rest |= unit << (8 * (j - i));
  }
  return finish(hash ^ scramble(rest), length);
}

/** Goes on from a place where all before was ASCII, and whole blocks of four. */
function hashOnwards(text: string, from: number, before: number): number {
  let hash = before;
  let byteCount = from;
  let block = 0;
  const add = (byte: number): void => {
    block |= byte << (8 * (byteCount & 3));
    byteCount++;
    if ((byteCount & 3) === 0) {
      hash = mix(hash, block);
      block = 0;
    }
  };
  for (let i = from; i < text.length; i++) {
    const point = codePointAt(text, i);
    if (point > 0xffff) i++;
    if (point < 0x80) add(point);
    else {
      if (point < 0x800) add(0xc0 | (point >> 6));
      else {
        if (point < 0x10000) add(0xe0 | (point >> 12));
        else {
          add(0xf0 | (point >> 18));
          add(0x80 | ((point >> 12) & 0x3f));
        }
        add(0x80 | ((point >> 6) & 0x3f));
      }
      add(0x80 | (point & 0x3f));
    }
  }
  return finish(hash ^ scramble(block), byteCount);
}

/** Half a surrogate pair is no character, and reads as the replacement character. */
function codePointAt(text: string, index: number): number {
  const point = text.codePointAt(index) ?? 0;
  return point >= 0xd800 && point <= 0xdfff ? 0xfffd : point;
}

function scramble(block: number): number {
  const k = Math.imul(block, 0xcc9e2d51);
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
}

function mix(hash: number, block: number): number {
  const h = hash ^ scramble(block);
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(hash: number, byteCount: number): number {
  let h = hash ^ byteCount;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
