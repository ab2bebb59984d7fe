import type { DefaultedFeatureFlagSource, EnvironmentVariable } from "@bunting/featureflags/resources";
import type { SourceProblem } from "../sources/source-problem.js";
import { cacheVolume, identityVolume } from "./sidecar-volumes.js";
import { usableEnvironment } from "./usable-environment.js";

/** Variables of cloud providers' libraries keep their names. */
const keptNames = /^(?:AZURE_STORAGE|AWS_|GOOGLE_)/;
/** What flagd's variables begin with, whatever those of the application do. */
const ownPrefix = "FLAGD";
const goDuration = /^(?:0|(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+)$/;
const logFormats = ["json", "console"];

/** `PREFIX_NAME`; an empty prefix leaves the name as it is. */
export function prefixed(prefix: string, name: string): string {
  return prefix === "" || keptNames.test(name) ? name : `${prefix}_${name}`;
}

/** The variables of a source with their full names, as containers get them, and what is left out. */
export function namedEnvironment(
  prefix: string,
  variables: readonly EnvironmentVariable[] = [],
): ReturnType<typeof usableEnvironment> {
  return usableEnvironment(
    variables.map((variable) => ({ ...variable, name: prefixed(prefix, variable.name) })),
  );
}

export interface SidecarEnvironment {
  readonly agent: readonly EnvironmentVariable[];
  /** For containers of the application. */
  readonly application: readonly EnvironmentVariable[];
  readonly problems: readonly SourceProblem[];
}

/**
 * Variables of the sidecar and of the application.
 *
 * The sidecar gets the open-feature-operator's, in its order, then those that only flagd or our agent reads. The application gets what it needs to
 * connect, since `envVars` may hold credentials of the sidecar's sources; with `stock` it gets all that the sidecar has from the source.
 *
 * @param hasIdentity whether the sidecar has a token and the authority of the proxy
 */
export function sidecarEnvironment(
  spec: DefaultedFeatureFlagSource,
  applicationEnv: "connection" | "stock",
  hasIdentity: boolean,
): SidecarEnvironment {
  const { envVarPrefix: prefix, socketPath = "" } = spec;
  const named = namedEnvironment(prefix, spec.envVars);
  const socket = socketPath === "" ? [] : [variable(prefix, "SOCKET_PATH", socketPath)];
  const connection = [
    variable(prefix, "RESOLVER", "rpc"),
    variable(prefix, "HOST", "localhost"),
    variable(prefix, "PORT", String(spec.port)),
    ...socket,
  ];
  const { logFormat } = spec;
  const problems = [...named.problems];
  const isKnownFormat = logFormats.includes(logFormat);
  if (!isKnownFormat)
    problems.push(left(`logFormat: ${logFormat}`, "the sidecar would not start; write json or console"));
  const stock = [
    ...named.variables,
    variable(prefix, "MANAGEMENT_PORT", String(spec.managementPort)),
    variable(prefix, "PORT", String(spec.port)),
    variable(prefix, "EVALUATOR", spec.evaluator),
    variable(prefix, "LOG_FORMAT", isKnownFormat ? logFormat : "json"),
    variable(prefix, "RESOLVER", "rpc"),
    ...socket,
  ];
  const own = ownEnvironment(spec, problems);
  return {
    agent: lastOfEach([...stock, ...own, ...agentEnvironment(hasIdentity)]),
    application: lastOfEach(applicationEnv === "stock" ? stock : connection),
    problems,
  };
}

/** Variables of flagd itself that the source's own prefix, or the open-feature-operator's arguments, do not bring to it. */
function ownEnvironment(
  spec: DefaultedFeatureFlagSource,
  problems: SourceProblem[],
): readonly EnvironmentVariable[] {
  const { socketPath = "", keepAliveMinTime = "", keepAlivePermitWithoutStream } = spec;
  const isPace = keepAliveMinTime === "" || goDuration.test(keepAliveMinTime);
  if (!isPace) {
    const why = "the sidecar would not start; write a duration such as 30s";
    problems.push(left(`keepAliveMinTime: ${keepAliveMinTime}`, why));
  }
  return [
    ...(socketPath === "" ? [] : [variable(ownPrefix, "SOCKET_PATH", socketPath)]),
    ...(keepAliveMinTime === "" || !isPace
      ? []
      : [variable(ownPrefix, "KEEP_ALIVE_MIN_TIME", keepAliveMinTime)]),
    ...(keepAlivePermitWithoutStream === undefined
      ? []
      : [variable(ownPrefix, "KEEP_ALIVE_PERMIT_WITHOUT_STREAM", String(keepAlivePermitWithoutStream))]),
  ];
}

function agentEnvironment(hasIdentity: boolean): readonly EnvironmentVariable[] {
  return [
    { name: "BUNTING_CACHE_DIR", value: cacheVolume.mountPath },
    ...(hasIdentity
      ? [
          { name: "BUNTING_TOKEN_FILE", value: `${identityVolume.mountPath}/token` },
          { name: "BUNTING_CA_FILE", value: `${identityVolume.mountPath}/ca.crt` },
        ]
      : []),
    { name: "BUNTING_START_WAIT", value: "5s" },
    { name: "BUNTING_READY_AFTER", value: "30s" },
  ];
}

function variable(prefix: string, name: string, value: string): EnvironmentVariable {
  return { name: prefixed(prefix, name), value };
}

function left(setting: string, why: string): SourceProblem {
  return { reason: "InvalidSetting", message: `${setting} is left out: ${why}` };
}

/** Of variables with one name the last, as Kubernetes takes them; admission adds each that a container lacks. */
export function lastOfEach(variables: readonly EnvironmentVariable[]): readonly EnvironmentVariable[] {
  const lastIndex = new Map(variables.map(({ name }, index) => [name, index]));
  return variables.filter(({ name }, index) => lastIndex.get(name) === index);
}
