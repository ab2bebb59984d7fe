import type { EnvironmentVariable, FeatureFlagSourceSpec } from "@bunting/featureflags/resources";
import type { SourceProblem } from "./source-problem.js";

/**
 * The part of a FeatureFlagSource of another namespace that its owner may decide for Pods that are not theirs. Kubernetes would put values of
 * the Pod's own Secrets where the source says, and the source says as well where the sidecar connects to: so variables from Secrets and
 * ConfigMaps are left out, and references to variables, `$(NAME)`, stay texts.
 */
export function disarmSpec<Spec extends Pick<FeatureFlagSourceSpec, "envVars">>(
  spec: Spec,
  named: string,
): { readonly spec: Spec; readonly problems: readonly SourceProblem[] } {
  const { envVars = [], ...rest } = spec;
  const kept = envVars.filter((variable) => !readsPodObjects(variable));
  const dropped = envVars.filter(readsPodObjects).map(({ name }) => name);
  const disarmed = withoutReferences({ ...rest, ...(kept.length === 0 ? {} : { envVars: kept }) }) as Spec;
  if (dropped.length === 0) return { spec: disarmed, problems: [] };
  const message = `the variables ${dropped.join(", ")} of ${named} are left out: they would read Secrets or ConfigMaps of a namespace that is not its own; set them in a source of that namespace`;
  return { spec: disarmed, problems: [{ reason: "InvalidSetting", message }] };
}

function readsPodObjects({ value, valueFrom }: EnvironmentVariable): boolean {
  if (value !== undefined && value !== "") return false;
  return valueFrom?.secretKeyRef !== undefined || valueFrom?.configMapKeyRef !== undefined;
}

/** A copy in which Kubernetes expands nothing, in arguments and variables: `$$` is a dollar sign to it, and `$(` begins a reference. */
function withoutReferences(value: unknown): unknown {
  if (typeof value === "string") return doubled(value);
  if (Array.isArray(value)) return value.map(withoutReferences);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [doubled(name), withoutReferences(one)]),
  );
}

function doubled(text: string): string {
  return text.replaceAll("$", () => "$$");
}
