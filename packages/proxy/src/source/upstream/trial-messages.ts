import { buntingSyncV1, type TrialCounts, normaliseDocument, type JsonValue } from "@bunting/protocol";
import { cutToBytes } from "@bunting/runtime";
import type { TrialMessage } from "@bunting/sync-client/messages";
import type { Trial } from "../trial.js";

/** Limit of a reason, as upstreams enforce it. */
const maxReasonBytes = 256;

/** The message by which a proxy tells its upstream how a version fares. */
export function encodeTrialReport(
  topic: string,
  { digest, reason = "", lowest, ...counts }: TrialCounts,
): Buffer {
  const value = {
    ...{ topic, digest: Buffer.from(digest, "hex"), reason: cutToBytes(reason, maxReasonBytes), lowest },
    ...counts,
  };
  const message = { $case: "trialReport" as const, value };
  return Buffer.from(buntingSyncV1.SyncRequest.encode({ message }).finish());
}

/** The version that an upstream has agents try. Undefined without one, and where it can't be read: then nobody here tries it, and the upstream waits. */
export function readTrial({ digest, generation, reach, document }: TrialMessage): Trial | undefined {
  if (digest.length === 0) return undefined;
  try {
    const { document: read } = normaliseDocument(JSON.parse(document.toString()) as JsonValue);
    const known = generation === 0 ? {} : { generation };
    return { document: read, digest: digest.toString("hex"), reach, ...known };
  } catch {
    return undefined;
  }
}
