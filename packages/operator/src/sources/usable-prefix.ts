import { prefixProblem } from "@bunting/featureflags/resources";
import { quoted } from "@bunting/runtime";
import type { SourceProblem } from "./source-problem.js";

const ownPrefix = "FLAGD";

/** Reason for which no Pod could have variables with this prefix; undefined if it can. */
export function unusablePrefix(prefix = ""): SourceProblem | undefined {
  const problem = prefixProblem(prefix);
  if (problem === undefined) return undefined;
  return { reason: "InvalidSetting", message: `envVarPrefix: ${quoted(prefix)} is left out: ${problem}` };
}

/** The merged spec with a prefix with which Kubernetes accepts a Pod: the variables of an application and of its sidecar begin with it. */
export function withUsablePrefix<Spec extends { readonly envVarPrefix?: string }>(
  spec: Spec,
): { readonly spec: Spec; readonly problems: readonly SourceProblem[] } {
  const problem = unusablePrefix(spec.envVarPrefix);
  return problem === undefined
    ? { spec, problems: [] }
    : { spec: { ...spec, envVarPrefix: ownPrefix }, problems: [problem] };
}
