/** A semantic version, or the beginning of one: `1` and `1.2` mean `1.0.0` and `1.2.0`. Build metadata is ignored. */
export interface Version {
  readonly major: string;
  readonly minor: string;
  readonly patch: string;
  /** Identifiers with dots between them; empty for a release. */
  readonly prerelease: string;
}

// Versions come from contexts and may be long. V8 notes each turn of a loop over several characters, with 16 MB for a version of 1 MB; a loop over
// single ones takes no memory.
const number = String.raw`(0|[1-9]\d*)`;
const prerelease = String.raw`(?:-([\da-z.-]+))?`;
const build = String.raw`(?:\+([\da-z.-]+))?`;
const pattern = new RegExp(
  String.raw`^v?${number}(?:\.${number}(?:\.${number}${prerelease}${build})?)?$`,
  "i",
);
const emptyIdentifier = /^\.|\.\.|\.$/;
const leadingZero = /(?:^|\.)0\d+(?:\.|$)/;

/** Parses a version, with or without a leading `v`. */
export function parseVersion(text: string): Version | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, major = "0", minor = "0", patch = "0", identifiers = "", metadata = ""] = match;
  if (emptyIdentifier.test(identifiers) || emptyIdentifier.test(metadata) || leadingZero.test(identifiers))
    return undefined;
  return { major, minor, patch, prerelease: identifiers };
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
function comparePrereleases(a: string, b: string): number {
  if (a === "" || b === "") return b.length - a.length;
  let same = 0;
  while (same < a.length && a.charCodeAt(same) === b.charCodeAt(same)) same++;
  // The first identifiers that differ, or the last ones that both have.
  const start = a.lastIndexOf(".", same - 1) + 1;
  return compareIdentifiers(identifierAt(a, start), identifierAt(b, start)) || a.length - b.length;
}

function identifierAt(identifiers: string, start: number): string {
  const end = identifiers.indexOf(".", start);
  return identifiers.slice(start, end === -1 ? undefined : end);
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
