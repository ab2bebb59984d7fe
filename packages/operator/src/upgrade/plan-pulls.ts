import type { FleetPull, FleetRollout } from "./fleet.js";

/** What is to be done so that nodes have the image of a rollout. */
export interface PullPlan {
  /** Nodes that are to pull it. */
  readonly create: readonly string[];
  /** Of no more use. */
  readonly remove: readonly FleetPull[];
  /** Of nodes that can't pull it, or could not until now, in the order of their names. */
  readonly troubled: readonly FleetPull[];
  /** When there is something to do though nothing changes; Infinity: never. */
  readonly dueMs: number;
}

export interface PullInputs {
  readonly rollout: FleetRollout;
  readonly pulls: readonly FleetPull[];
  /** Nodes of Pods that could be begun with, the most urgent first; undefined once nothing is to be begun any more. */
  readonly wanted: readonly string[] | undefined;
  readonly nowMs: number;
}

/** The nodes that have the image. */
export function nodesWithImage(
  { uid, settings }: FleetRollout,
  pulls: readonly FleetPull[],
): ReadonlySet<string> {
  const own = pulls.filter(({ rollout, image }) => rollout === uid && image === settings.image);
  return new Set(own.filter(({ state }) => state === "pulled").map(({ node }) => node));
}

/**
 * As many nodes pull at a time as Pods may be under way. One that has not managed within the deadline no longer counts, and goes on trying, as its kubelet
 * does; one that has refused is asked again after it.
 */
export function planPulls({ rollout: { uid, settings }, pulls, wanted, nowMs }: PullInputs): PullPlan {
  const own = pulls.filter(({ rollout }) => rollout === uid);
  if (!settings.prePulls || wanted === undefined)
    return { create: [], remove: own, troubled: [], dueMs: Infinity };
  const endMs = ({ createdMs }: FleetPull): number => createdMs + settings.deadlineMs;
  const isKept = (pull: FleetPull): boolean =>
    pull.image === settings.image && (pull.state !== "failed" || nowMs < endMs(pull));
  const kept = own.filter((pull) => isKept(pull));
  const open = kept.filter((pull) => pull.state === "pulling" && nowMs < endMs(pull));
  const known = new Set(kept.map(({ node }) => node));
  const missing = [...new Set(wanted)].filter((node) => !known.has(node));
  const troubled = kept.filter(({ state, trouble }) => state !== "pulled" && trouble !== undefined);
  const waiting = kept.filter((pull) => pull.state !== "pulled" && nowMs < endMs(pull));
  return {
    create: missing.slice(0, Math.max(0, settings.maxInFlight - open.length)),
    remove: own.filter((pull) => !isKept(pull)),
    troubled: troubled.sort((a, b) => (a.node < b.node ? -1 : 1)),
    dueMs: Math.min(Infinity, ...waiting.map((pull) => endMs(pull))),
  };
}
