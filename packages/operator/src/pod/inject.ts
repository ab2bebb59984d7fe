import type { InjectionEntry } from "../api/injection.js";
import {
  agentLabel,
  buntingAnnotations,
  evictableVolumesAnnotation,
  injectedByLabel,
  sidecarName,
} from "../api/names.js";
import type { Container, PodManifest, PodMetadata, PodSpec } from "../api/pod-manifest.js";
import { completePullSecrets, completeVolumes } from "./pod-volumes.js";
import { sidecarFor } from "./quality-of-service.js";
import type { NotInjectedReason } from "./reasons.js";
import { portsCollide } from "./sidecar-ports.js";

/** Nothing that extensions give has this in front. */
const ownPrefix = "openfeature.dev/";

/** Who changes the Pod: the API server by itself, or our webhook. */
export type InjectionWay = "policy" | "webhook";

export type InjectionResult =
  | { readonly kind: "injected"; readonly pod: PodManifest }
  | { readonly kind: "not-injected"; readonly reason: NotInjectedReason };

/**
 * The Pod with everything of its entry. deploy/policies/inject.yaml does the same in the API server, and a test holds them to equal Pods: whoever
 * changes one changes both.
 *
 * Injecting a Pod again changes nothing, except that containers which were added in between get what they lack. Variables and mounts that a
 * container has of its own stay as they are.
 */
export function inject(pod: PodManifest, entry: InjectionEntry, way: InjectionWay): InjectionResult {
  const hasSidecar = hasOurSidecar(pod);
  const reason = reasonAgainst(pod, entry, hasSidecar);
  if (reason !== undefined) return { kind: "not-injected", reason };
  const sidecar = hasSidecar ? undefined : sidecarFor(pod.spec, entry);
  const isNew = sidecar !== undefined || injectedMark(pod) === undefined;
  return {
    kind: "injected",
    pod: {
      ...pod,
      ...(isNew ? { metadata: marked(pod.metadata, entry, way) } : {}),
      spec: completeContainers(
        {
          ...pod.spec,
          ...(sidecar === undefined ? {} : { initContainers: withSidecar(pod.spec, sidecar) }),
          ...completeVolumes(pod.spec, entry),
          ...completePullSecrets(pod.spec, entry),
        },
        entry,
      ),
    },
  };
}

/** The Pod with an annotation that says why it was not injected. Pods that mirror static ones must stay as they are. */
export function markNotInjected(pod: PodManifest, reason: NotInjectedReason): PodManifest {
  if (isMirror(pod)) return pod;
  const annotations = { ...pod.metadata.annotations, [buntingAnnotations.notInjected]: reason };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

function reasonAgainst(
  pod: PodManifest,
  entry: InjectionEntry,
  hasSidecar: boolean,
): NotInjectedReason | undefined {
  const { containers, initContainers = [], hostNetwork, os, nodeSelector } = pod.spec;
  if (isMirror(pod)) return "MirrorPod";
  // The policy gives up on such a Pod, by the cost of its expressions.
  if (addsTooMuch(pod.spec, entry)) return "TooLarge";
  if (entry.container === undefined || hasSidecar) return undefined;
  if (hostNetwork === true && entry.hostNetwork !== true) return "HostNetwork";
  if (os?.name === "windows" || nodeSelector?.["kubernetes.io/os"] === "windows") return "Windows";
  if ([...containers, ...initContainers].some(({ name }) => name === sidecarName)) return "OwnContainer";
  return portsCollide(pod.spec, entry) ? "PortTaken" : undefined;
}

function isMirror({ metadata }: PodManifest): boolean {
  return metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined;
}

/** True if an earlier injection added the sidecar. A container of its name without our annotation was made by somebody else. */
function hasOurSidecar(pod: PodManifest): boolean {
  const { initContainers = [] } = pod.spec;
  return injectedMark(pod) !== undefined && initContainers.some(({ name }) => name === sidecarName);
}

function injectedMark({ metadata }: PodManifest): string | undefined {
  return metadata.annotations?.[buntingAnnotations.injected];
}

function withSidecar({ initContainers = [] }: PodSpec, sidecar: Container): Container[] {
  return initContainers.toSpliced(sidecarPlace(initContainers), 0, sidecar);
}

function marked(metadata: PodMetadata, entry: InjectionEntry, way: InjectionWay): PodMetadata {
  const { labels, annotations = {} } = metadata;
  // The annotation of an earlier Pod, whose manifest this one was copied from.
  const kept = Object.entries(annotations).filter(([name]) => name !== buntingAnnotations.notInjected);
  return {
    ...metadata,
    ...(entry.container === undefined
      ? {}
      : { labels: { ...labels, [agentLabel]: entry.revision, [injectedByLabel]: way } }),
    annotations: {
      // An application's own stay: extensions give defaults.
      ...entry.annotations,
      ...Object.fromEntries(kept),
      ...ownAnnotations(entry),
      ...evictableVolumes(annotations, entry),
      [buntingAnnotations.injected]: `${way} ${entry.digest}`,
    },
  };
}

/** Those of the entry by which Pods with it are known, whatever a Pod says. */
function ownAnnotations({ annotations }: InjectionEntry): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => name.startsWith(ownPrefix)));
}

/** The list of the Pod's owner goes on with ours. */
function evictableVolumes(
  { [evictableVolumesAnnotation]: own = "" }: Readonly<Record<string, string>>,
  { annotations: { [evictableVolumesAnnotation]: ours = "" } }: InjectionEntry,
): Readonly<Record<string, string>> {
  if (ours === "") return {};
  return { [evictableVolumesAnnotation]: own === "" ? ours : own.includes(ours) ? own : `${own},${ours}` };
}

/** Init containers that run before the sidecar have no use for its variables. */
function completeContainers(spec: PodSpec, entry: InjectionEntry): PodSpec {
  const { containers, initContainers } = spec;
  const complete = (container: Container): Container => completed(container, entry);
  if (initContainers === undefined) return { ...spec, containers: containers.map(complete) };
  const sidecar = initContainers.findIndex(({ name }) => name === sidecarName);
  const first = entry.container !== undefined && sidecar !== -1 ? sidecar + 1 : sidecarPlace(initContainers);
  return {
    ...spec,
    initContainers: initContainers.map((each, index) => (index < first ? each : complete(each))),
    containers: containers.map(complete),
  };
}

function completed(container: Container, entry: InjectionEntry): Container {
  const { env = [], volumeMounts = [] } = container;
  const names = new Set(env.map(({ name }) => name));
  const missingEnv = entry.env.filter(({ name }) => !names.has(name));
  const missingMounts = entry.mounts.filter(
    ({ mountPath }) => !volumeMounts.some((of) => of.mountPath === mountPath),
  );
  return {
    ...container,
    ...(missingEnv.length === 0 ? {} : { env: [...env, ...missingEnv] }),
    ...(missingMounts.length === 0 ? {} : { volumeMounts: [...volumeMounts, ...missingMounts] }),
  };
}

/** Init containers of service meshes: they give the Pod its network, so that everything else comes after them. */
const meshContainers: ReadonlySet<string> = new Set([
  "istio-validation",
  "istio-init",
  "istio-proxy",
  "linkerd-init",
  "linkerd-network-validator",
  "linkerd-proxy",
]);

/**
 * The index in a Pod's init containers at which the sidecar is inserted: behind those of a mesh that lead the list, before all others, so that
 * these have flags too. A mesh that is injected later puts itself in front.
 */
function sidecarPlace(initContainers: readonly Container[] = []): number {
  const first = initContainers.findIndex(({ name }) => !meshContainers.has(name));
  return first === -1 ? initContainers.length : first;
}

/** About as much as the API server stores of one object. */
const maxAddedCharacters = 1024 * 1024;

/**
 * True if a Pod with the variables and mounts of the entry in each of its containers could not be stored. That must be known before they are put
 * in: nobody has counted the containers of a Pod that is shown to us, and some hundred KB for each of thousands would take all memory.
 */
function addsTooMuch({ containers, initContainers = [] }: PodSpec, { env, mounts }: InjectionEntry): boolean {
  return (
    JSON.stringify([env, mounts]).length * (containers.length + initContainers.length) > maxAddedCharacters
  );
}
