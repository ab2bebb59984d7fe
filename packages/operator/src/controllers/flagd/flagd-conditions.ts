import { setCondition, type Condition } from "@bunting/kube";
import { hasStalled, isRolledOut, type LiveDeployment } from "../../desired/proxy/proxy-rollout.js";
import type { FlagdOutcome } from "./flagd-outcome.js";

type Verdict = Pick<Condition, "status" | "reason" | "message">;

/** Longer messages are read by nobody. */
const maxMessageLength = 1_024;

/** The conditions of a Flagd after it was deployed, or was not. The same array if nothing has changed. */
export function flagdConditions(
  conditions: readonly Condition[],
  outcome: FlagdOutcome,
  { generation, nowMs }: { readonly generation: number | undefined; readonly nowMs: number },
): readonly Condition[] {
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const verdicts =
    outcome.kind === "refused"
      ? { Progressing: refused(outcome.problem.reason, outcome.problem.message) }
      : { Available: availability(outcome.deployment), Progressing: progress(outcome) };
  // What was available before a mistake still is.
  return Object.entries(verdicts).reduce(
    (known, [type, verdict]) => setCondition(known, { type, ...verdict, ...observed }, nowMs),
    conditions,
  );
}

function availability({ status = {} }: LiveDeployment): Verdict {
  const { availableReplicas = 0 } = status;
  if (availableReplicas > 0)
    return { status: "True", reason: "Available", message: "At least one Pod serves flags." };
  return { status: "False", reason: "NoReplicas", message: "No Pod serves flags." };
}

function progress({ deployment, problems }: FlagdOutcome & { readonly kind: "applied" }): Verdict {
  if (hasStalled(deployment))
    return refused(
      "Stalled",
      "new Pods do not become available; look at the events of the Deployment and of its Pods",
    );
  const [problem] = problems;
  if (problem !== undefined) {
    const message = sentence(problems.map((one) => one.message).join("; "));
    return { status: "True", reason: problem.reason, message };
  }
  return isRolledOut(deployment)
    ? { status: "True", reason: "Complete", message: "All Pods are as they should be." }
    : { status: "True", reason: "Deploying", message: "Not all Pods are as they should be yet." };
}

function refused(reason: string, message: string): Verdict {
  return { status: "False", reason, message: sentence(message) };
}

function sentence(text: string): string {
  const capital = text.slice(0, 1).toUpperCase() + text.slice(1);
  return capital.length < maxMessageLength ? `${capital}.` : `${capital.slice(0, maxMessageLength - 1)}…`;
}
