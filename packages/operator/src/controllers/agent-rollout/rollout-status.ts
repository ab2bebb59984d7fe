import { setCondition, type Condition } from "@bunting/kube";
import type { AgentRollout, AgentRolloutStatus } from "../../api/agent-rollout.js";
import { waitReasons } from "../../upgrade/capacity.js";
import type { RolloutProgress } from "../../upgrade/fleet.js";
import type { RolloutVerdict } from "../../upgrade/plan.js";

/** What an earlier operator has written; undefined if it says nothing of use. */
export function progressOf({
  image,
  since,
  haltedReason,
  failures = [],
}: AgentRolloutStatus): RolloutProgress | undefined {
  const sinceMs = Date.parse(since ?? "");
  if (image === undefined || Number.isNaN(sinceMs)) return undefined;
  return {
    image,
    sinceMs,
    ...(haltedReason === undefined ? {} : { halted: haltedReason }),
    failures: failures.map(({ pod, uid, time, message }) => ({ pod, uid, atMs: Date.parse(time), message })),
  };
}

/** The status that says what was found; `before` is the last one. */
export function rolloutStatusOf(
  verdict: RolloutVerdict,
  { metadata: { generation } }: AgentRollout,
  before: AgentRolloutStatus,
  nowMs: number,
): AgentRolloutStatus {
  const { phase, desired, updated, ready, inFlight, progress } = verdict;
  const { image, sinceMs, halted, failures } = progress;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  let conditions: readonly Condition[] = before.conditions ?? [];
  for (const condition of conditionsOf(verdict))
    conditions = setCondition(conditions, { ...condition, ...observed }, nowMs);
  return {
    ...observed,
    ...{ image, since: timeOf(sinceMs), phase, desired, updated, ready, inFlight, failed: failures.length },
    ...(halted === undefined ? {} : { haltedReason: halted }),
    failures: failures.map(({ pod, uid, atMs, message }) => ({ pod, uid, time: timeOf(atMs), message })),
    conditions,
  };
}

type NewCondition = Omit<Condition, "lastTransitionTime" | "observedGeneration">;

function conditionsOf(verdict: RolloutVerdict): readonly NewCondition[] {
  const { rollout, phase, progress } = verdict;
  const { refused } = rollout.settings;
  const isHalted = progress.halted !== undefined;
  return [
    refused === undefined
      ? { type: "Accepted", status: "True", reason: "Accepted", message: "It is well-formed." }
      : { type: "Accepted", status: "False", reason: "InvalidImage", message: `${refused}.` },
    {
      type: "Completed",
      status: phase === "Completed" ? "True" : "False",
      reason: phase,
      message: rolloutMessage(verdict),
    },
    {
      type: "Halted",
      status: isHalted ? "True" : "False",
      reason: isHalted ? "TooManyFailures" : "NotHalted",
      message: isHalted ? haltMessage(verdict) : "It has not failed as often as its threshold.",
    },
  ];
}

/** A sentence about how far it is, and what it waits for. */
export function rolloutMessage(verdict: RolloutVerdict): string {
  const { phase, desired, updated, inFlight, waiting, progress } = verdict;
  const count = `${updated} of ${desired} Pods have the image`;
  const failed = progress.failures.length === 0 ? "" : `, and ${progress.failures.length} failed`;
  switch (phase) {
    case "Refused":
      return "Nothing is done, because it is not accepted.";
    case "Halted":
      return haltMessage(verdict);
    case "Completed":
      return desired === 0 ? "There is no Pod that it is for." : `${count}${failed}.`;
    case "Paused":
      return `${count}${failed}. Nothing more is begun, because spec.paused is true.`;
    case "Progressing": {
      const why = [...waiting].map(([reason, pods]) => `${pods} because ${waitReasons[reason]}`).join(", ");
      return `${count}${failed}, and ${inFlight} are under way.${why === "" ? "" : ` Others wait: ${why}.`}`;
    }
  }
}

function haltMessage({ progress: { halted = "" }, toRevert, rollout }: RolloutVerdict): string {
  const { rollsBack } = rollout.settings;
  const back = rollsBack
    ? `${toRevert === 0 ? "All that were updated have" : `${toRevert} that were updated get`} their image of before back.`
    : "Those that were updated keep the image.";
  return `${halted} ${back} To go on, edit spec.image, or set spec.paused to true and then to false.`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
