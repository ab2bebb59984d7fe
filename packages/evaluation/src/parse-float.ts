// Texts come from contexts and may be long: none of these patterns backtracks.
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const hexadecimal = /^([+-]?)0x(?=\.?[\da-f])([\da-f]*)(?:\.([\da-f]*))?p([+-]?\d+)$/i;
const infinity = /^([+-]?)inf(?:inity)?$/i;
const notANumber = /^nan$/i;
/** Beyond this exponent the number is zero or infinite, whatever its digits are. */
const maxBinaryExponent = 100_000;

/**
 * Parses a number as Go does; undefined if the text is not a number. A number that is too large is infinite. White space is not allowed,
 * underscores between digits are.
 */
export function parseFloatText(text: string): number | undefined {
  if (decimal.test(text)) return Number(text);
  if (infinity.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (notANumber.test(text)) return NaN;
  if (text.includes("_")) return parseWithUnderscores(text);
  return parseHexadecimal(text);
}

/** An underscore may stand between two digits, and after the prefix of a hexadecimal number. */
function parseWithUnderscores(text: string): number | undefined {
  const misplaced = /^[+-]?0x/i.test(text) ? /(?<![\da-fx])_|_(?![\da-f])/i : /(?<!\d)_|_(?!\d)/;
  // Of long texts, ten times as fast as replacing.
  return misplaced.test(text) ? undefined : parseFloatText(text.split("_").join(""));
}

function parseHexadecimal(text: string): number | undefined {
  const match = hexadecimal.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", exponentText] = match;
  const mantissa = Number(BigInt(`0x${whole}${fraction}`));
  const exponent = Number(exponentText) - 4 * fraction.length;
  const bounded = Math.max(-maxBinaryExponent, Math.min(maxBinaryExponent, exponent));
  return scale(sign === "-" ? -mantissa : mantissa, bounded);
}

/** value * 2^exponent, in steps that overflow or underflow only if the result does. */
function scale(value: number, exponent: number): number {
  let result = value;
  for (let left = exponent; left !== 0 && result !== 0 && Number.isFinite(result);) {
    const step = Math.max(-500, Math.min(500, left));
    result *= 2 ** step;
    left -= step;
  }
  return result;
}
