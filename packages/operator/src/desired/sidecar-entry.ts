import type { DefaultedFeatureFlagSource } from "@bunting/featureflags/resources";
import type { InjectionEntry } from "../api/injection.js";
import { annotations, evictableVolumesAnnotation } from "../api/names.js";
import type { SourcePlan } from "../sources/source-plan.js";
import type { SourceProblem } from "../sources/source-problem.js";
import { shortDigest, withDigest } from "./entry-digest.js";
import { imageRevision } from "./image-reference.js";
import { sidecarArguments } from "./sidecar-arguments.js";
import { sidecarContainer, type ContainerParts } from "./sidecar-container.js";
import { sidecarEnvironment } from "./sidecar-environment.js";
import { sidecarResources } from "./sidecar-resources.js";
import type { SidecarSettings } from "./sidecar-settings.js";
import { sourceList } from "./source-list.js";
import { mountedSources, sidecarVolumes, socketProblem } from "./sidecar-volumes.js";

/** A namespace, of which admission may depend on annotations. */
export interface PodNamespace {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export type EntryResult =
  | { readonly kind: "compiled"; readonly entry: InjectionEntry; readonly problems: readonly SourceProblem[] }
  | { readonly kind: "refused"; readonly problems: readonly SourceProblem[] };

/** OpenShift's, on namespaces whose Pods get their users from it. */
export const openShiftUsers = "openshift.io/sa.scc.uid-range";
/** Of flagd.sync, which no argument of the open-feature-operator sets. */
const syncPort = 8015;

/** What Pods of the namespace get that have the plan's text: a sidecar with its volumes, and variables for the application. */
export function sidecarEntry(
  text: string,
  plan: SourcePlan,
  settings: SidecarSettings,
  namespace: PodNamespace,
): EntryResult {
  const { spec, problems: socketProblems } = withUsableSocket(plan.spec);
  const portProblem = problemOfPorts(spec);
  if (portProblem !== undefined)
    return { kind: "refused", problems: [...plan.problems, ...socketProblems, portProblem] };
  const { socketPath = "" } = spec;
  const hasIdentity = settings.proxyAccess === "secured" && plan.sources.some(({ way }) => way === "proxy");
  const {
    resources,
    guaranteed,
    problems: resourceProblems,
  } = sidecarResources(spec.resources, settings.resources);
  const environment = sidecarEnvironment(spec, settings.applicationEnv, hasIdentity);
  const mounted = mountedSources(plan);
  const volumes = sidecarVolumes({ hasIdentity, socketPath, ...mounted, namespace: namespace.name });
  const list = sourceList(namespace.name, text, plan);
  const parts = {
    image: settings.image,
    args: sidecarArguments(
      spec,
      plan.sources.map(({ element }) => element),
    ),
    env: [...environment.agent, ...(list === undefined ? [] : [list.variable])],
    volumeMounts: volumes.agentMounts,
    ports: { management: spec.managementPort, flagd: spec.port },
    traits: {
      hasProbes: spec.probesEnabled,
      choosesUser: namespace.annotations[openShiftUsers] === undefined,
    },
  };
  const tooLong = problemOfLength(parts);
  if (tooLong !== undefined) return { kind: "refused", problems: [...plan.problems, tooLong] };
  const watches = plan.sources.some(({ provider }) => provider === "kubernetes");
  return {
    kind: "compiled",
    entry: withDigest({
      origin: originOf(plan),
      ...list?.entry,
      revision: imageRevision(settings.image),
      container: sidecarContainer(parts, resources),
      guaranteed: sidecarContainer(parts, guaranteed),
      ...(settings.hostNetworkPods === "inject" ? { hostNetwork: true } : {}),
      volumes: volumes.volumes,
      env: environment.application,
      mounts: volumes.applicationMounts,
      imagePullSecrets: settings.imagePullSecrets,
      annotations: {
        [evictableVolumesAnnotation]: volumes.evictable.join(","),
        ...(watches ? { [annotations.allowKubernetesSync]: "true" } : {}),
      },
    }),
    problems: [...plan.problems, ...socketProblems, ...resourceProblems, ...environment.problems],
  };
}

/** Without what Pods get nothing of: an edit of that restarts nothing. */
function originOf({ spec, sources }: SourcePlan): string {
  const without = { sources: undefined, rolloutOnChange: undefined, syncProviderArgs: undefined };
  return shortDigest({ ...spec, ...without, elements: sources.map(({ element }) => element) });
}

/** Linux starts no program with a longer argument or variable (MAX_ARG_STRLEN, with the zero at its end). */
const maxArgumentBytes = 128 * 1024 - 1;

function problemOfLength({ args, env }: Pick<ContainerParts, "args" | "env">): SourceProblem | undefined {
  const texts = [...args, ...env.map(({ name, value = "" }) => `${name}=${value}`)];
  if (texts.every((text) => Buffer.byteLength(text) <= maxArgumentBytes)) return undefined;
  const message =
    "the sources, or one of the other values, take more than 128 KB, and the sidecar would not start; use fewer, or shorter ones";
  return { reason: "InvalidSetting", message };
}

/**
 * With two services on one port, or on none, the sidecar ends, and the containers that wait for it never start. A socket takes the place of `port`,
 * which the container declares nevertheless.
 */
function problemOfPorts({
  port,
  managementPort,
  ofrepPort,
  socketPath = "",
}: DefaultedFeatureFlagSource): SourceProblem | undefined {
  const given = Object.entries({ port, managementPort, ofrepPort });
  const wrong = given.find(([, value]) => !Number.isInteger(value) || value < 1 || value > 65_535);
  if (wrong !== undefined)
    return { reason: "InvalidSetting", message: `${wrong[0]}: ${wrong[1]} is no port; write 1 to 65535` };
  const taken = new Map<number, string>([[syncPort, "the port of flagd.sync"]]);
  for (const [name, value] of socketPath === "" ? given : given.slice(1)) {
    const other = taken.get(value);
    if (other !== undefined)
      return {
        reason: "InvalidSetting",
        message: `${name}: ${value} is ${other} as well, and the sidecar would not start; choose another one`,
      };
    taken.set(value, name);
  }
  return undefined;
}

/** Without the socket, applications connect to the port. */
function withUsableSocket(spec: DefaultedFeatureFlagSource): {
  readonly spec: DefaultedFeatureFlagSource;
  readonly problems: readonly SourceProblem[];
} {
  const { socketPath = "", ...rest } = spec;
  const problem = socketPath === "" ? undefined : socketProblem(socketPath);
  return problem === undefined ? { spec, problems: [] } : { spec: rest, problems: [problem] };
}
