import { variableProblem, type EnvironmentVariable } from "@bunting/featureflags/resources";
import type { SourceProblem } from "../sources/source-problem.js";

/**
 * The variables with which Kubernetes accepts a Pod, each with one value: of `value` and `valueFrom`, `value` counts, as in the
 * open-feature-operator. One that is not right would have every Pod refused that uses the source.
 */
export function usableEnvironment(variables: readonly EnvironmentVariable[]): {
  readonly variables: readonly EnvironmentVariable[];
  readonly problems: readonly SourceProblem[];
} {
  const problems: SourceProblem[] = [];
  const usable = variables.flatMap((variable) => {
    const message = variableProblem(variable);
    if (message !== undefined) {
      problems.push({ reason: "InvalidSetting", message });
      return [];
    }
    const { name, value = "", valueFrom } = variable;
    return [value !== "" || valueFrom === undefined ? { name, value } : { name, valueFrom }];
  });
  return { variables: usable, problems };
}
