import type { EnvironmentVariable, FeatureFlagSourceSpec } from "@bunting/featureflags/resources";
import { quoted } from "@bunting/protocol";
import type { SourceProblem } from "./source-problem.js";

/**
 * The part of a FeatureFlagSource of another namespace that its owner may decide for Pods that are not theirs. Kubernetes would put values of
 * the Pod's own Secrets where the source says, and the source says as well where the sidecar connects to: so variables from Secrets and
 * ConfigMaps are left out, and references to variables, `$(NAME)`, stay texts. Nor may a variable be called as one by which a runtime loads code,
 * such as `NODE_OPTIONS`: all of theirs begin with `FLAGD`.
 */
export function disarmSpec<Spec extends Pick<FeatureFlagSourceSpec, "envVars" | "envVarPrefix">>(
  spec: Spec,
  named: string,
): { readonly spec: Spec; readonly problems: readonly SourceProblem[] } {
  const { envVars = [], envVarPrefix = ownPrefix, ...rest } = spec;
  const kept = envVars.filter((variable) => !readsPodObjects(variable));
  const dropped = envVars.filter(readsPodObjects).map(({ name }) => name);
  const isPrefixKept = foreignPrefix.test(envVarPrefix);
  const disarmed = withoutReferences({
    ...rest,
    ...(isPrefixKept && spec.envVarPrefix !== undefined ? { envVarPrefix } : {}),
    ...(kept.length === 0 ? {} : { envVars: kept }),
  }) as Spec;
  const messages = [
    ...(dropped.length === 0
      ? []
      : [
          `the variables ${dropped.join(", ")} of ${named} are left out: they would read Secrets or ConfigMaps of a namespace that is not its own; set them in a source of that namespace`,
        ]),
    ...(isPrefixKept
      ? []
      : [
          `the envVarPrefix of ${named} is left out: variables of another namespace begin with FLAGD, so that no program takes them for its own; write FLAGD, or FLAGD_ and more`,
        ]),
  ];
  return { spec: disarmed, problems: messages.map((message) => ({ reason: "InvalidSetting", message })) };
}

/** The sources of another namespace without the Pods' own Secrets, which they would send to servers that they choose. */
export function withoutCredentials<Spec extends Pick<FeatureFlagSourceSpec, "sources">>(
  spec: Spec,
  named: string,
): { readonly spec: Spec; readonly problems: readonly SourceProblem[] } {
  const secretive = spec.sources.filter(({ credentialsSecretRef }) => credentialsSecretRef !== undefined);
  if (secretive.length === 0) return { spec, problems: [] };
  const names = secretive.map(({ source }) => quoted(source)).join(", ");
  const message = `the sources ${names} of ${named} go without their credentialsSecretRef: it would send a Secret of a namespace that is not its own; write them into a source of that namespace`;
  const sources = spec.sources.map((source) => {
    const { credentialsSecretRef, ...others } = source;
    return credentialsSecretRef === undefined ? source : others;
  });
  return { spec: { ...spec, sources }, problems: [{ reason: "InvalidSetting", message }] };
}

const ownPrefix = "FLAGD";
const foreignPrefix = /^FLAGD(?:_\w*)?$/;
/** What is called so wherever it comes from: variables of flagd, and of cloud providers' libraries. */
const plainNames = /^(?:FLAGD_|AZURE_STORAGE|AWS_|GOOGLE_)/;

/**
 * The merged spec without variables of other namespaces that would be called as they are, because the Pods' own namespace, or the operator, wants no
 * prefix.
 *
 * @param foreign variables of other namespaces
 */
export function withoutBareVariables<Spec extends Pick<FeatureFlagSourceSpec, "envVars" | "envVarPrefix">>(
  spec: Spec,
  foreign: ReadonlySet<EnvironmentVariable>,
): { readonly spec: Spec; readonly problems: readonly SourceProblem[] } {
  const isBare = (variable: EnvironmentVariable): boolean =>
    foreign.has(variable) && !plainNames.test(variable.name);
  const { envVars = [], envVarPrefix = ownPrefix } = spec;
  const bare = envVarPrefix === "" ? envVars.filter(isBare) : [];
  if (bare.length === 0) return { spec, problems: [] };
  const message = `the variables ${bare.map(({ name }) => name).join(", ")} of another namespace are left out, because there is no envVarPrefix: set one in a source of the Pods' namespace`;
  const kept = { ...spec, envVars: envVars.filter((variable) => !isBare(variable)) };
  return { spec: kept, problems: [{ reason: "InvalidSetting", message }] };
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
