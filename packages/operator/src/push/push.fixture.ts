import type { TrialCounts } from "@bunting/protocol";
import type { PushInputs, PushRecord } from "./push-plan.js";
import { pushEvidence, type PushEvidence, type ToldPush } from "./told-push.js";

/** What is pushed, and what all had before. */
export const digest = "new";
export const wholeDigest = "old";

export function record(change: Partial<PushRecord> = {}): PushRecord {
  return { digest, phase: "Progressing", wave: 1, reach: 100, agents: 10, tried: 0, forgiven: 0, ...change };
}

/** What a proxy says: two agents try it, and have it. */
export function told(change: Partial<TrialCounts> = {}, subscribers = 10): ToldPush {
  const trial = { digest, reach: 100, agents: 10, lowest: 7, wave: 2, current: 2, refusals: 0, ...change };
  return { subscribers, trial };
}

export function evidence(...proxies: readonly ToldPush[]): PushEvidence {
  return pushEvidence(proxies, digest);
}

export function inputs(change: Partial<PushInputs> = {}): PushInputs {
  return {
    settings: { waves: [1, 10], observeMs: 60_000, maxRefusing: 0, isPaused: false },
    ...{ digest, wholeDigest, before: record(), isAborted: false, resumed: undefined },
    ...{ evidence: evidence(told()), watch: undefined, nowMs: 1_000_000 },
    ...change,
  };
}
