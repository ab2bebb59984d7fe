import type { SourceVersion } from "../source/flag-source.js";

/** The version of a document that an agent says it holds, as far as order is concerned. */
export type ComparedVersion = Pick<SourceVersion, "uid" | "generation" | "resourceVersion">;

/**
 * True if one version is known to be newer than another: its resourceVersion is greater, or, of the same object, its generation. Kubernetes
 * promises that resourceVersions of one resource type are whole numbers that grow, also from an object to the one that is created in its
 * place; what is none can't be compared. Of two clusters this says nothing: to be wrong then costs one more read.
 */
export function isNewer(one: ComparedVersion, than: ComparedVersion): boolean {
  if (!isKnown(one.uid) || !isKnown(than.uid)) return false;
  const [ours, theirs] = [asNumber(one.resourceVersion), asNumber(than.resourceVersion)];
  if (ours !== undefined && theirs !== undefined) return ours > theirs;
  return one.uid === than.uid && (one.generation ?? 0) > (than.generation ?? Number.POSITIVE_INFINITY);
}

function isKnown(uid: string | undefined): boolean {
  return uid !== undefined && uid !== "";
}

/** resourceVersions have 64 bits, more than a number can hold. */
function asNumber(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined;
}
