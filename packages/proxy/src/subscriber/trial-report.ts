import type { buntingSyncV1 } from "@bunting/protocol";
import type { TrialCounts } from "../source/trial.js";

/** What another proxy says of how a version fares with its agents. */
export function trialReportOf(report: buntingSyncV1.TrialReport): TrialCounts {
  const { digest, reach, agents, lowest, wave, current, refusals, reason } = report;
  return {
    ...{ digest: digest.toString("hex"), reach, agents, wave, current, refusals },
    ...(lowest === undefined ? {} : { lowest }),
    ...(reason === "" ? {} : { reason }),
  };
}
