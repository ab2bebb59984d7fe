import { definedFields } from "./defined-fields.js";
import { mergeEnvironment } from "./environment-variable.js";
import type { FeatureFlagSourceSpec, ResourceRequirements } from "./feature-flag-source.js";

/** What overrides although it is false: the open-feature-operator knows of these whether they were given. */
const switches: ReadonlySet<string> = new Set([
  "rolloutOnChange",
  "probesEnabled",
  "debugLogging",
  "keepAlivePermitWithoutStream",
]);

/**
 * Two FeatureFlagSources of one workload, as the open-feature-operator merges them:
 *
 * - sources are appended; arguments too, each once; environment variables by `mergeEnvironment`;
 * - maps are merged by key;
 * - switches override if they are given;
 * - everything else overrides unless it is zero or empty.
 *
 * The defaults of the CRD are values like others: those of `overriding` win over what `base` says.
 */
export function mergeFeatureFlagSources(
  base: FeatureFlagSourceSpec,
  overriding: FeatureFlagSourceSpec,
): FeatureFlagSourceSpec {
  const given = Object.fromEntries(
    Object.entries(overriding).filter(([name, value]) => overrides(name, value)),
  );
  return definedFields<FeatureFlagSourceSpec>({
    ...base,
    ...(given as Partial<FeatureFlagSourceSpec>),
    sources: [...base.sources, ...overriding.sources],
    ...some("envVars", mergeEnvironment(base.envVars, overriding.envVars)),
    ...some("syncProviderArgs", [
      ...new Set([...(base.syncProviderArgs ?? []), ...(overriding.syncProviderArgs ?? [])]),
    ]),
    ...some("resources", mergeResources(base.resources, overriding.resources)),
    ...some("contextValues", { ...base.contextValues, ...overriding.contextValues }),
    ...some("headerToContextMappings", {
      ...base.headerToContextMappings,
      ...overriding.headerToContextMappings,
    }),
  });
}

function mergeResources(
  base: ResourceRequirements = {},
  overriding: ResourceRequirements = {},
): ResourceRequirements {
  return {
    ...base,
    ...some("limits", { ...base.limits, ...overriding.limits }),
    ...some("requests", { ...base.requests, ...overriding.requests }),
  };
}

function overrides(name: string, value: unknown): boolean {
  if (value === undefined || value === null) return false;
  return switches.has(name) || !(value === "" || value === 0 || value === false || isEmpty(value));
}

/** The field unless it is empty, which is the same as absent. */
function some<Name extends string, Value extends object>(
  name: Name,
  value: Value,
): Partial<Record<Name, Value>> {
  return isEmpty(value) ? {} : ({ [name]: value } as Partial<Record<Name, Value>>);
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
