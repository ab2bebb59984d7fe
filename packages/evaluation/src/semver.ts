/** A semantic version, or the beginning of one: `1` and `1.2` mean `1.0.0` and `1.2.0`. Build metadata is ignored. */
export interface Version {
  readonly major: string;
  readonly minor: string;
  readonly patch: string;
  readonly prerelease: readonly string[];
}

const number = String.raw`(0|[1-9]\d*)`;
const identifier = String.raw`(?:0|[1-9]\d*|\d*[a-z-][\da-z-]*)`;
const prerelease = String.raw`(?:-(${identifier}(?:\.${identifier})*))?`;
const build = String.raw`(?:\+[\da-z-]+(?:\.[\da-z-]+)*)?`;
const pattern = new RegExp(
  String.raw`^v?${number}(?:\.${number}(?:\.${number}${prerelease}${build})?)?$`,
  "i",
);

/** Parses a version, with or without a leading `v`. */
export function parseVersion(text: string): Version | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, major = "0", minor = "0", patch = "0", identifiers] = match;
  return { major, minor, patch, prerelease: identifiers?.split(".") ?? [] };
}

/** Negative if `a` is older, positive if it is newer. */
export function compareVersions(a: Version, b: Version): number {
  return (
    compareDigits(a.major, b.major) ||
    compareDigits(a.minor, b.minor) ||
    compareDigits(a.patch, b.patch) ||
    comparePrereleases(a.prerelease, b.prerelease)
  );
}

/** Whole numbers of any length, without leading zeros. */
function compareDigits(a: string, b: string): number {
  return a.length - b.length || compareText(a, b);
}

/** A version is newer than its prereleases, and a longer list of identifiers is newer than its own beginning. */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const order = compareIdentifiers(a[i] ?? "", b[i] ?? "");
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** Numbers come before names. */
function compareIdentifiers(a: string, b: string): number {
  const isNumeric = /^\d+$/.test(a);
  if (isNumeric !== /^\d+$/.test(b)) return isNumeric ? -1 : 1;
  return isNumeric ? compareDigits(a, b) : compareText(a, b);
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
