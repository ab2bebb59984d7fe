import type { SourceVersion } from "../source/flag-source.js";

/** The version of a document that an agent says it holds, as far as order is concerned. */
export type ComparedVersion = Pick<SourceVersion, "uid" | "generation" | "resourceVersion">;

/**
 * True if one version is known to be newer than another: both are of the same object, and its resourceVersion (else its generation) is
 * greater. Kubernetes promises that resourceVersions of one resource type are whole numbers that grow; what is none can't be compared.
 */
export function isNewer(one: ComparedVersion, than: ComparedVersion): boolean {
  if (one.uid === undefined || one.uid === "" || one.uid !== than.uid) return false;
  const [ours, theirs] = [asNumber(one.resourceVersion), asNumber(than.resourceVersion)];
  if (ours !== undefined && theirs !== undefined) return ours > theirs;
  return (one.generation ?? 0) > (than.generation ?? Number.POSITIVE_INFINITY);
}

/** resourceVersions have 64 bits, more than a number can hold. */
function asNumber(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined;
}
