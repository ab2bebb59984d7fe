import type { CustomResource } from "./custom-resource.js";
import { definedFields } from "./defined-fields.js";
import { mergeEnvironment, type EnvironmentVariable } from "./environment-variable.js";

export type InProcessConfiguration = CustomResource<"InProcessConfiguration", InProcessConfigurationSpec>;

/** Settings of OpenFeature providers that evaluate in the workload's own process. */
export interface InProcessConfigurationSpec {
  /** Of flagd.sync at the host. */
  readonly port?: number;
  readonly host?: string;
  readonly tls?: boolean;
  readonly cache?: "lru" | "disabled";
  /** In entries. */
  readonly cacheMaxSize?: number;
  /** Of the environment variables that containers get. */
  readonly envVarPrefix?: string;
  readonly socketPath?: string;
  readonly offlineFlagSourcePath?: string;
  readonly selector?: string;
  readonly envVars?: readonly EnvironmentVariable[];
}

/** The defaults of the CRD. */
export const inProcessConfigurationDefaults = Object.freeze({
  port: 8015,
  host: "localhost",
  tls: false,
  cache: "lru",
  cacheMaxSize: 1000,
  envVarPrefix: "FLAGD",
} as const);

export type DefaultedInProcessConfiguration = InProcessConfigurationSpec &
  Required<Pick<InProcessConfigurationSpec, keyof typeof inProcessConfigurationDefaults>>;

/** What never overrides. */
const builtIn: InProcessConfigurationSpec = {
  ...inProcessConfigurationDefaults,
  socketPath: "",
  offlineFlagSourcePath: "",
  selector: "",
};

/**
 * Two InProcessConfigurations of one workload, as the open-feature-operator merges them: a field overrides unless it has its default, so
 * what `base` says can't be set back to a default. Environment variables are merged by `mergeEnvironment`.
 */
export function mergeInProcessConfigurations(
  base: InProcessConfigurationSpec,
  overriding: InProcessConfigurationSpec,
): InProcessConfigurationSpec {
  const given = Object.entries(definedFields(overriding)).filter(
    ([name, value]) => value !== builtIn[name as keyof InProcessConfigurationSpec],
  );
  const envVars = mergeEnvironment(base.envVars, overriding.envVars);
  return {
    ...base,
    ...(Object.fromEntries(given) as InProcessConfigurationSpec),
    ...(envVars.length === 0 ? {} : { envVars }),
  };
}
