import type { PodExplanation } from "../../operator/explain/explanation.js";
import type { CheckFinding } from "../finding-codes.js";
import { placeOfGroup, type PodGroup } from "../pod-survey.js";

export interface PodsFacts {
  /** Of each group of Pods without flags: why the first of them has none, if our operator is to tell. */
  readonly explained: readonly { readonly group: PodGroup; readonly explanation?: PodExplanation }[];
  readonly unwell: readonly PodGroup[];
}

export function judgePods({ explained, unwell }: PodsFacts): readonly CheckFinding[] {
  return [
    ...explained
      // Somebody else may have made its sidecar.
      .filter(({ explanation: { verdict } = { verdict: "not-injected" } }) => verdict === "not-injected")
      .map(({ group, explanation }) => notInjected(group, explanation)),
    ...unwell.map((group): CheckFinding => ({
      code: "sidecar-not-running",
      where: placeOfGroup(group),
      what: `its sidecar is ${group.state?.words ?? "not running"}`,
      todo: `see why: kubectl -n ${group.namespace} logs ${nameOf(group)} -c flagd, or kubectl describe`,
    })),
  ];
}

function notInjected(group: PodGroup, explanation: PodExplanation | undefined): CheckFinding {
  const found = { code: "pod-not-injected", where: placeOfGroup(group) } as const;
  if (explanation === undefined)
    return {
      ...found,
      what: "it asks for flags, and has no container flagd",
      todo: "restart its workload: the webhook of the open-feature-operator did not answer when it was created, or the template got its annotations later",
    };
  return {
    ...found,
    what: `it asks for flags, and has none: ${explanation.reason ?? "Missed"}`,
    todo: `${withoutStop(explanation.advice)} (bunting operator explain pod ${group.namespace}/${nameOf(group)} says more)`,
  };
}

function nameOf({ pod }: PodGroup): string {
  return pod.metadata?.name ?? "";
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}
