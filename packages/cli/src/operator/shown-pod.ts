import { isJsonObject, type JsonObject } from "@bunting/protocol";
import { objectNames, podAnnotations } from "./operator-names.js";

/** A container, as far as a command looks at it. */
export interface ShownContainer {
  readonly name: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

/** A Pod, or the template of one, as far as a command looks at it. */
export interface ShownPod {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly creationTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly containers: readonly ShownContainer[];
    readonly initContainers?: readonly ShownContainer[];
    readonly volumes?: readonly JsonObject[];
  };
  readonly status?: {
    readonly initContainerStatuses?: readonly ShownContainerStatus[];
    readonly containerStatuses?: readonly ShownContainerStatus[];
  };
}

export interface ShownContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: Readonly<Record<string, { readonly reason?: string; readonly message?: string }>>;
}

/** The container of the sidecar's name, whoever made it. */
export function sidecarOf(pod: ShownPod): ShownContainer | undefined {
  return containersOf(pod).find(({ name }) => name === objectNames.sidecar);
}

/** The sidecar, or in a Pod that asks no operator for one, an agent that somebody has written by hand, whatever its container is called. */
export function agentOf(pod: ShownPod): ShownContainer | undefined {
  const sidecar = sidecarOf(pod);
  if (sidecar !== undefined || pod.metadata?.annotations?.[podAnnotations.enabled] === "true") return sidecar;
  return containersOf(pod).find(({ image = "" }) => /(^|\/)bunting-agent(?=[:@]|$)/.test(image));
}

export function containersOf({ spec }: ShownPod): readonly ShownContainer[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

/** The value of an option, which may follow its name as a word of its own, or after an equals sign. */
export function optionOf({ args = [] }: ShownContainer, name: string): string | undefined {
  const joined = args.find((word) => word.startsWith(`${name}=`));
  const place = args.indexOf(name);
  return joined?.slice(name.length + 1) ?? (place < 0 ? undefined : args[place + 1]);
}

/** What the sidecar or the agent does, in words of Kubernetes: `running`, `waiting: ImagePullBackOff`; undefined for a template. */
export function sidecarState(
  pod: ShownPod,
): { readonly words: string; readonly isRunning: boolean; readonly isReady: boolean } | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const wanted = agentOf(pod)?.name ?? objectNames.sidecar;
  const found = [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === wanted);
  if (found === undefined) return undefined;
  const [state = "unknown", details = {}] = Object.entries(found.state ?? {})[0] ?? [];
  const reason = details.reason === undefined ? "" : `: ${details.reason}`;
  const restarts = (found.restartCount ?? 0) === 0 ? "" : `, ${found.restartCount} restarts`;
  const ready = state === "running" ? (found.ready === true ? ", ready" : ", not ready") : "";
  return {
    words: `${state}${reason}${ready}${restarts}`,
    isRunning: state === "running",
    isReady: state === "running" && found.ready === true,
  };
}

/** Undefined for what has no containers, and so is no Pod. */
export function asShownPod(value: unknown): ShownPod | undefined {
  const object = value as JsonObject | undefined;
  const spec = object?.["spec"] ?? null;
  return isJsonObject(spec) && Array.isArray(spec["containers"]) ? (value as ShownPod) : undefined;
}
