import { buntingSyncV1 } from "@bunting/protocol";
import { cutToBytes } from "@bunting/runtime";
import type { TrialCounts } from "../trial.js";

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
