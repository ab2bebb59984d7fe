import { setCondition, type Condition } from "@bunting/kube";
import {
  hasStalled,
  isRolledOut,
  podRefusal,
  type LiveDeployment,
} from "../../desired/proxy/proxy-rollout.js";
import { sentence } from "../injection/source-conditions.js";
import type { FlagdNews, FlagdOutcome, FlagdProblem } from "./flagd-outcome.js";

type Verdict = Pick<Condition, "status" | "reason" | "message">;

/** Of Flagds whose operator deploys none. */
export const notServed: FlagdProblem = {
  reason: "NotServed",
  message:
    "this operator serves no Flagds, so nothing is deployed or kept up for this one: start the operator with --flagd (of its chart: options.flagd), or delete the Flagd",
};

/** True if that was the last word about a Flagd. */
export function isSaidToBeUnserved(conditions: readonly Condition[]): boolean {
  return conditions.some(({ reason }) => reason === notServed.reason);
}

/** The conditions of a Flagd after it was deployed, or was not. The same array if nothing has changed. */
export function flagdConditions(
  conditions: readonly Condition[],
  outcome: FlagdNews,
  { generation, nowMs }: { readonly generation: number | undefined; readonly nowMs: number },
): readonly Condition[] {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  return Object.entries(verdictsOf(outcome)).reduce(
    (known, [type, verdict]) => setCondition(known, { type, ...verdict, ...observed }, nowMs),
    outcome.kind === "unserved" ? unlessAvailable(conditions) : conditions,
  );
}

function verdictsOf(outcome: FlagdNews): Readonly<Record<string, Verdict>> {
  switch (outcome.kind) {
    case "applied":
      return { Available: availability(outcome.deployment), Progressing: progress(outcome) };
    case "refused":
      // What was available before a mistake still is.
      return { Progressing: refused(outcome.problem) };
    case "unserved":
      return { Progressing: refused(notServed) };
  }
}

/** Without what was seen of Pods once: nobody looks any more. */
function unlessAvailable(conditions: readonly Condition[]): readonly Condition[] {
  const isSeen = ({ type }: Condition): boolean => type === "Available";
  return conditions.some(isSeen) ? conditions.filter((each) => !isSeen(each)) : conditions;
}

function availability({ status = {} }: LiveDeployment): Verdict {
  const { availableReplicas = 0 } = status;
  if (availableReplicas > 0)
    return { status: "True", reason: "Available", message: "At least one Pod serves flags." };
  return { status: "False", reason: "NoReplicas", message: "No Pod serves flags." };
}

function progress({ deployment, problems }: FlagdOutcome & { readonly kind: "applied" }): Verdict {
  const refusal = podRefusal(deployment);
  if (refusal !== undefined)
    return refused({
      reason: "PodsRefused",
      message: `the API server refuses new Pods, which are tried again by themselves: ${refusal}`,
    });
  if (hasStalled(deployment))
    return refused({
      reason: "Stalled",
      message: "new Pods do not become available; look at the events of the Deployment and of its Pods",
    });
  const [problem] = problems;
  if (problem !== undefined) {
    const message = sentence(problems.map((one) => one.message).join("; "));
    return { status: "True", reason: problem.reason, message };
  }
  return isRolledOut(deployment)
    ? { status: "True", reason: "Complete", message: "All Pods are as they should be." }
    : { status: "True", reason: "Deploying", message: "Not all Pods are as they should be yet." };
}

function refused({ reason, message }: FlagdProblem): Verdict {
  return { status: "False", reason, message: sentence(message) };
}
