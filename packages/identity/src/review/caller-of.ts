import { identityName, type Identity } from "../identity.js";

/**
 * The caller against which the limits of reviews count: a Pod, where the credential names one. Pods of one ServiceAccount that
 * counted as one would keep each other out: those that are gone with their revoked tokens, one that guesses names with its refusals.
 */
export function callerOf(identity: Identity): string {
  const { podUid, uid = "" } = identity;
  return podUid === undefined ? `${identityName(identity)} ${uid}` : `Pod ${podUid}`;
}
