import type { DefaultedInProcessConfiguration, EnvironmentVariable } from "@bunting/featureflags/resources";
import type { InjectionEntry } from "../api/injection.js";
import type { SourceProblem } from "../sources/source-problem.js";
import { withDigest } from "./entry-digest.js";
import { lastOfEach, namedEnvironment, prefixed } from "./sidecar-environment.js";

/** Applications that evaluate in process get variables only: the source's, then what the provider reads, in the open-feature-operator's order. */
export function inProcessEntry(spec: DefaultedInProcessConfiguration): {
  readonly entry: InjectionEntry;
  readonly problems: readonly SourceProblem[];
} {
  const { variables, problems } = namedEnvironment(spec.envVarPrefix, spec.envVars);
  const own: readonly (readonly [name: string, value: string | undefined])[] = [
    ["HOST", spec.host],
    ["PORT", String(spec.port)],
    ["TLS", String(spec.tls)],
    ["CACHE", spec.cache],
    ["MAX_CACHE_SIZE", String(spec.cacheMaxSize)],
    ["RESOLVER", "in-process"],
    ["SOCKET_PATH", spec.socketPath],
    ["OFFLINE_FLAG_SOURCE_PATH", spec.offlineFlagSourcePath],
    ["SOURCE_SELECTOR", spec.selector],
  ];
  const given = own.flatMap(([name, value]): readonly EnvironmentVariable[] =>
    value === undefined || value === "" ? [] : [{ name: prefixed(spec.envVarPrefix, name), value }],
  );
  const entry = withDigest({
    revision: "",
    volumes: [],
    env: lastOfEach([...variables, ...given]),
    mounts: [],
    imagePullSecrets: [],
    annotations: {},
  });
  return { entry, problems };
}
