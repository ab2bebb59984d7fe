import {
  digestBytes,
  historyLength,
  maxHistoryBytes,
  maxHistoryKeys,
  type PastVersion,
} from "@bunting/protocol";
import type { SyncResponse } from "./bunting-messages.js";
import { readFields } from "./message-fields.js";

/** A history without its versions: a topic, and a digest. */
const maxHeadBytes = 2 * 1024;

/**
 * Decodes a History. One beyond the bounds, or with digests that are none, counts as a message of an unknown kind: it is of use only, and
 * needed for nothing.
 *
 * @throws MalformedMessageError
 */
export function decodeHistory(message: Buffer): SyncResponse {
  if (message.length > maxHistoryBytes + maxHeadBytes) return { kind: "unknown" };
  let topic = "";
  let digest = message.subarray(0, 0);
  const encoded: Buffer[] = [];
  readFields(message, (field, value) => {
    if (typeof value === "number") return;
    if (field === 1) topic = value.toString();
    else if (field === 2) digest = value;
    else if (field === 3 && encoded.length <= historyLength) encoded.push(value);
  });
  if (digest.length !== digestBytes || encoded.length > historyLength) return { kind: "unknown" };
  const budget = { keys: maxHistoryKeys };
  const versions = encoded.map((version) => decodePastVersion(version, budget));
  // A copy, because it outlives the message.
  return versions.every((version) => version !== undefined)
    ? { kind: "history", topic, digest: Buffer.from(digest), versions }
    : { kind: "unknown" };
}

/**
 * Undefined if it has no digest, or too many keys.
 *
 * @param budget the keys that it may have
 */
function decodePastVersion(message: Buffer, budget: { keys: number }): PastVersion | undefined {
  let digest = message.subarray(0, 0);
  const flags: string[] = [];
  const parts = { metadata: false, evaluators: false };
  readFields(message, (field, value) => {
    if (typeof value === "number") {
      if (field === 3) parts.metadata = value !== 0;
      else if (field === 4) parts.evaluators = value !== 0;
    } else if (field === 1) digest = value;
    else if (field === 2 && --budget.keys >= 0) flags.push(value.toString());
  });
  if (digest.length !== digestBytes || budget.keys < 0) return undefined;
  return { digest: digest.toString("hex"), flags, ...parts };
}
