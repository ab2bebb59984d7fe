/**
 * The length in bits of the code of each byte (RFC 7541 appendix B). The code is canonical, so the lengths are all there is to know: codes of
 * one length are consecutive, in the order of their bytes, and follow on those of the length before. The code that is left is EOS.
 */
const codeBits = [
  [13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28],
  [28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28],
  [6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6],
  [5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10],
  [13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7],
  [7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6],
  [15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5],
  [6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28],
  [20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23],
  [24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24],
  [22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23],
  [21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23],
  [26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25],
  [19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27],
  [20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23],
  [26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26],
].flat();

const minBits = 5;
const maxBits = 30;

/** The bytes in the order of their codes. */
const symbols = new Uint8Array(256);
/** For each length: what has to be added to a code of that length for its place in `symbols`. */
const offsets = new Int32Array(maxBits + 1);
/** For each length: the first code that is too large for it, and so the beginning of a longer one. */
const limits = new Int32Array(maxBits + 1);

fillTables();

function fillTables(): void {
  let code = 0;
  let place = 0;
  for (let bits = minBits; bits <= maxBits; bits++) {
    offsets[bits] = place - code;
    for (const [symbol, length] of codeBits.entries()) {
      if (length !== bits) continue;
      symbols[place++] = symbol;
      code++;
    }
    limits[bits] = code;
    code <<= 1;
  }
}

/** Reused for each string; header blocks are bounded, and so are their strings. */
let decoded = Buffer.allocUnsafeSlow(1024);

/**
 * The text that the bytes between two offsets stand for, in latin1; undefined if they are not a valid code. Bit by bit, because nearly all that
 * clients send is in the tables, and decoded once.
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string | undefined {
  const maxDecoded = Math.ceil(((end - start) * 8) / minBits);
  if (maxDecoded > decoded.length) decoded = Buffer.allocUnsafeSlow(maxDecoded);
  let length = 0;
  let code = 0;
  let bits = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] ?? 0;
    for (let shift = 7; shift >= 0; shift--) {
      code = (code << 1) | ((byte >>> shift) & 1);
      // The limits of shorter codes are 0.
      if (code < (limits[++bits] ?? 0)) {
        decoded[length++] = symbols[code + (offsets[bits] ?? 0)] ?? 0;
        code = 0;
        bits = 0;
      } else if (bits === maxBits) return undefined;
    }
  }
  // The padding is the beginning of EOS, which is all ones, and shorter than a byte.
  if (bits > 7 || code !== (1 << bits) - 1) return undefined;
  return decoded.toString("latin1", 0, length);
}
