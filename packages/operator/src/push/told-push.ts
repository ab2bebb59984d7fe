import type { TrialCounts } from "@bunting/protocol";

/** What one proxy says of a FeatureFlag, as far as it matters here. */
export interface ToldPush {
  readonly subscribers: number;
  /** Absent where it knows of no version that only some are to have. */
  readonly trial?: TrialCounts;
}

/** What all proxies say of one version. */
export interface PushEvidence {
  readonly subscribers: number;
  readonly agents: number;
  readonly lowest: number | undefined;
  readonly wave: number;
  readonly current: number;
  readonly refusals: number;
  readonly reason: string | undefined;
  /** The reach that each proxy with subscribers goes by; undefined for one that does not know the version. */
  readonly reaches: readonly (number | undefined)[];
}

/** Numbers in a status go no further. Proxies that agents reach tell what other proxies say of theirs, or whoever pretends to be one. */
const mostCounted = 2 ** 31 - 1;

/** @param digest of the version */
export function pushEvidence(told: readonly ToldPush[], digest: string): PushEvidence {
  const asked = told.filter(({ subscribers }) => subscribers > 0);
  const trials = asked.flatMap(({ trial }) => (trial?.digest === digest ? [trial] : []));
  const sum = (count: (trial: TrialCounts) => number): number =>
    Math.min(
      trials.reduce((total, trial) => total + count(trial), 0),
      mostCounted,
    );
  const lowest = Math.min(...trials.map((trial) => trial.lowest ?? Infinity));
  return {
    subscribers: asked.reduce((total, { subscribers }) => total + subscribers, 0),
    agents: sum(({ agents }) => agents),
    lowest: lowest === Infinity ? undefined : lowest,
    wave: sum(({ wave }) => wave),
    current: sum(({ current }) => current),
    refusals: sum(({ refusals }) => refusals),
    reason: trials.find(({ refusals }) => refusals > 0)?.reason,
    reaches: asked.map(({ trial }) => (trial?.digest === digest ? trial.reach : undefined)),
  };
}
