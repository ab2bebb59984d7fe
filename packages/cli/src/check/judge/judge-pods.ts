import type { PodExplanation } from "../../operator/explain/explanation.js";
import type { CheckFinding } from "../finding-codes.js";
import type { PodGroup } from "../pod-survey.js";

export interface PodsFacts {
  /** Of each group of Pods without flags: why the first of them has none. */
  readonly explained: readonly { readonly group: PodGroup; readonly explanation: PodExplanation }[];
  readonly unwell: readonly PodGroup[];
}

export function judgePods({ explained, unwell }: PodsFacts): readonly CheckFinding[] {
  return [
    ...explained
      // Somebody else may have made its sidecar.
      .filter(({ explanation }) => explanation.verdict === "not-injected")
      .map(({ group, explanation }): CheckFinding => ({
        code: "pod-not-injected",
        where: placeOf(group),
        what: `it asks for flags, and has none: ${explanation.reason ?? "Missed"}`,
        todo: `${withoutStop(explanation.advice)} (bunting operator explain pod ${group.namespace}/${nameOf(group)} says more)`,
      })),
    ...unwell.map((group): CheckFinding => ({
      code: "sidecar-not-running",
      where: placeOf(group),
      what: `its sidecar is ${group.state?.words ?? "not running"}`,
      todo: `see why: kubectl -n ${group.namespace} logs ${nameOf(group)} -c flagd, or kubectl describe`,
    })),
  ];
}

function placeOf(group: PodGroup): string {
  const more = group.count === 1 ? "" : ` and ${group.count - 1} more of its owner`;
  return `Pod ${group.namespace}/${nameOf(group)}${more}`;
}

function nameOf({ pod }: PodGroup): string {
  return pod.metadata?.name ?? "";
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, "");
}
