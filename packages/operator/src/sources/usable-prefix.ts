import { quoted } from "@bunting/runtime";
import type { SourceProblem } from "./source-problem.js";

/** Characters of a variable's name, as API servers accept them from 1.32 on. */
const usable = /^[ -<>-~]*$/;
const ownPrefix = "FLAGD";

/** Reason for which no Pod could have variables with this prefix; undefined if it can. */
export function prefixProblem(prefix = ""): SourceProblem | undefined {
  if (usable.test(prefix)) return undefined;
  const message = `envVarPrefix: ${quoted(prefix)} is left out: Kubernetes would refuse the Pod; use letters, digits and "_"`;
  return { reason: "InvalidSetting", message };
}

/** The merged spec with a prefix with which Kubernetes accepts a Pod: the variables of an application and of its sidecar begin with it. */
export function withUsablePrefix<Spec extends { readonly envVarPrefix?: string }>(
  spec: Spec,
): { readonly spec: Spec; readonly problems: readonly SourceProblem[] } {
  const problem = prefixProblem(spec.envVarPrefix);
  return problem === undefined
    ? { spec, problems: [] }
    : { spec: { ...spec, envVarPrefix: ownPrefix }, problems: [problem] };
}
