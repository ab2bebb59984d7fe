import type { SourceVersion } from "../source/flag-source.js";

/** The fields of a version that order it. */
export type ComparedVersion = Pick<SourceVersion, "uid" | "generation" | "resourceVersion">;

/**
 * True if one version is known to be newer than another: by its resourceVersion, or for the same object by its generation. Kubernetes
 * promises that resourceVersions of one resource type are integers that grow, also from an object to one created in its place; others can't
 * be compared. For versions from two clusters the result is meaningless; a wrong one costs one more read.
 */
export function isNewer(one: ComparedVersion, than: ComparedVersion): boolean {
  if (!isKnown(one.uid) || !isKnown(than.uid)) return false;
  const [ours, theirs] = [asNumber(one.resourceVersion), asNumber(than.resourceVersion)];
  if (ours !== undefined && theirs !== undefined) return ours > theirs;
  return one.uid === than.uid && (one.generation ?? 0) > (than.generation ?? Number.POSITIVE_INFINITY);
}

export function isComparable(one: ComparedVersion, other: ComparedVersion): boolean {
  if (!isKnown(one.uid) || !isKnown(other.uid)) return false;
  const areNumbers = [one, other].every((version) => asNumber(version.resourceVersion) !== undefined);
  return areNumbers || one.uid === other.uid;
}

/** True if it is the version of an object, which others can be compared with. */
export function isNamed({ uid }: ComparedVersion): boolean {
  return isKnown(uid);
}

function isKnown(uid: string | undefined): boolean {
  return uid !== undefined && uid !== "";
}

/** resourceVersions have 64 bits, more than a number can hold. */
function asNumber(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined;
}
