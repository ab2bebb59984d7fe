import {
  requestAnnotations,
  inlineFlagName,
  inlineKinds,
  type InlineKind,
} from "@bunting/featureflags/resources";
import type { KubeObject } from "@bunting/kube";
import { cut } from "@bunting/runtime";

/** What became of a workload's own flags. */
export type InlineOutcome =
  /** The FeatureFlag has them. */
  | { readonly kind: "stored"; readonly flags: number }
  /** They can't be stored, and the last ones stay. */
  | { readonly kind: "refused"; readonly problem: string }
  /** Somebody else's FeatureFlag has the name. */
  | { readonly kind: "nameTaken" };

const maxCharacters = 1_024;

/** Text of the annotation on the workload: the flags that its Pods read, in the order in which later ones win. */
export function workloadRemarks(kind: InlineKind, workload: KubeObject, outcome: InlineOutcome): string {
  const flag = inlineFlagName(kind, workload.metadata.name);
  switch (outcome.kind) {
    case "stored": {
      const named = templateAnnotations(kind, workload);
      const { [requestAnnotations.flag]: flags = "", [requestAnnotations.source]: sources = "" } = named;
      const others = flags.split(",").filter((name) => name.trim() !== flag && name.trim() !== "");
      const before = [
        ...(sources === "" ? [] : [`sources ${sources}`]),
        ...(others.length === 0 ? [] : [`flags ${others.join(", ")}`]),
      ];
      const rest = before.length === 0 ? "" : `; read after ${before.join(" and ")}`;
      const isNamed = flags.split(",").some((name) => name.trim() === flag);
      const missing = isNamed
        ? ""
        : `; its Pods do not read it: ${requestAnnotations.flag} of the Pod template lacks the name`;
      return cut(
        `inline, ${outcome.flags} ${outcome.flags === 1 ? "flag" : "flags"} in FeatureFlag ${flag}${rest}${missing}`,
        maxCharacters,
      );
    }
    case "refused":
      return cut(`refused, and the last flags stay: ${outcome.problem}`, maxCharacters);
    case "nameTaken":
      return `refused: there is a FeatureFlag ${flag} that is not the workload's; rename or delete it`;
  }
}

function templateAnnotations(kind: InlineKind, workload: KubeObject): Readonly<Record<string, string>> {
  let value: unknown = workload;
  for (const field of [...inlineKinds[kind].template, "metadata", "annotations"])
    value = (value as Readonly<Record<string, unknown>> | undefined)?.[field];
  return (value ?? {}) as Readonly<Record<string, string>>;
}
