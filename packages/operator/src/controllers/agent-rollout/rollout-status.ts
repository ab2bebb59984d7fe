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
  let conditions: readonly Condition[] = (before.conditions ?? []).filter(
    ({ type }) => type !== imageCondition || verdict.rollout.settings.prePulls,
  );
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
  const { rollout, phase, progress, refused: refusedPods } = verdict;
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
    {
      type: "UpgradeRefused",
      status: refusedPods.length > 0 ? "True" : "False",
      reason: refusedPods.length > 0 ? "ChangesRefused" : "NoneRefused",
      message: refusalMessage(verdict),
    },
    ...(rollout.settings.prePulls ? [imageConditionOf(verdict)] : []),
  ];
}

const imageCondition = "ImagePulled";

function imageConditionOf({ pulls: { troubled }, waiting }: RolloutVerdict): NewCondition {
  const condition = (status: NewCondition["status"], reason: string, message: string): NewCondition => ({
    ...{ type: imageCondition, status, reason, message },
  });
  const [first] = troubled;
  if (first?.trouble !== undefined) {
    const which =
      troubled.length === 1 ? first.node : `${troubled.length} nodes, the first of them ${first.node}`;
    const why = first.trouble.replace(/\.$/, "");
    const message = `The image is not there, or can't be run, on ${which}: ${why}. Sidecars there keep theirs until it can.`;
    return condition("False", "CannotPull", message);
  }
  return waiting.has("Image")
    ? condition("False", "Pulling", "Nodes pull the image.")
    : condition("True", "Pulled", "The image was there on each node before a sidecar there was given it.");
}

function refusalMessage({ refused, rollout: { settings } }: RolloutVerdict): string {
  const [first] = refused;
  if (first?.refusal === undefined) return "No API server refuses to change one of its Pods.";
  const which = refused.length === 1 ? first.key : `${refused.length} Pods, the first of them ${first.key}`;
  const others =
    refused.length < settings.failureThreshold
      ? "Others are not kept waiting for that."
      : "Nothing is begun with others meanwhile, because there are as many as spec.failureThreshold; what was updated stays so.";
  return `An API server refuses to change ${which}: ${first.refusal.replace(/\.$/, "")}. It is asked again every half a minute. ${others}`;
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
