import type { buntingSyncV1 } from "@bunting/protocol";
import type { TrialCounts } from "../source/trial.js";

/**
 * What another proxy says of how a version fares with its agents. Agents beyond those that it has in the wave do not count: they would stand for
 * agents of others that do not have the version. Just after a wave was taken back, an honest proxy says that as well.
 */
export function trialReportOf(report: buntingSyncV1.TrialReport): TrialCounts {
  const { digest, reach, agents, lowest, refusals, reason } = report;
  const wave = Math.min(report.wave, agents);
  const current = Math.min(report.current, wave);
  return {
    ...{ digest: digest.toString("hex"), reach, agents, wave, current, refusals },
    ...(lowest === undefined ? {} : { lowest }),
    ...(reason === "" ? {} : { reason }),
  };
}
