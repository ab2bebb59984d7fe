const syntax = /^([+-]?)(\d*)(?:\.(\d*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d+))?$/;
const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binaryPrefixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/** Quantities have no smaller parts. */
const nanoExponent = 9;
/** The API server accepts less; no text of a Pod or of a source may make us compute a number of a million digits. */
const maxExponent = 30;
/** Digits in front of the point. */
const maxDigits = 60;

/** The number of nano-units of a quantity such as `500m`, `64Mi` or 0.5, rounded up as Kubernetes does; undefined if it is none. */
export function nanoUnits(quantity: string | number): bigint | undefined {
  const [, sign = "", whole = "", fraction = "", suffix = "", exponentText] =
    syntax.exec(String(quantity)) ?? [];
  if (whole === "" && fraction === "") return undefined;
  const binary = binaryPrefixes.indexOf(suffix) + 1;
  const exponent = exponentText === undefined ? (decimalExponents[suffix] ?? 0) : Number(exponentText);
  const isLong = whole.length > maxDigits || fraction.length > maxExponent;
  if (isLong || Math.abs(exponent) > maxExponent) return undefined;
  const digits = BigInt(whole + fraction) * 1024n ** BigInt(binary);
  const shift = exponent + nanoExponent - fraction.length;
  const size = shift >= 0 ? digits * 10n ** BigInt(shift) : divideUp(digits, 10n ** BigInt(-shift));
  return sign === "-" ? -size : size;
}

function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
