import type { KubeObject, ObjectMeta } from "@bunting/kube";
import { hasEnded } from "@bunting/featureflags/resources";
import { buntingAnnotations, sidecarName } from "../../api/names.js";
import type { Container, PodManifest } from "../../api/pod-manifest.js";
import { injectionRequest } from "../../pod/injection-request.js";
import type { NotInjectedReason } from "../../pod/reasons.js";

/** What the owner of a source may still mend: the Pod was admitted too early. */
const passing: ReadonlySet<string> = new Set<NotInjectedReason>([
  "UnknownSource",
  "NotShared",
  "InvalidSource",
]);

/** True for a Pod that was given no flags for a reason that may pass. */
export function cameEarly({ annotations = {} }: ObjectMeta): boolean {
  return passing.has(annotations[buntingAnnotations.notInjected] ?? "");
}

/**
 * True if the metadata of a Pod that wants flags says nothing of what became of that, or that it came too early. Only the whole Pod tells whether it
 * has a sidecar all the same.
 */
export function mayBeMissed(metadata: ObjectMeta): boolean {
  const { annotations = {}, deletionTimestamp } = metadata;
  const isMirror = annotations["kubernetes.io/config.mirror"] !== undefined;
  const isMarked =
    annotations[buntingAnnotations.injected] !== undefined ||
    (annotations[buntingAnnotations.notInjected] !== undefined && !cameEarly(metadata));
  return !isMarked && !isMirror && deletionTimestamp === undefined;
}

/**
 * True for a Pod that runs, or will, without the flags that it wants. The open-feature-operator marks no Pods: what it has injected is told by the
 * container, and without one by the variable that every in-process provider gets.
 */
export function isMissed(pod: KubeObject): boolean {
  const { metadata, spec, status } = pod as KubeObject &
    PodManifest & { readonly status?: { readonly phase?: string } };
  if (hasEnded(status ?? {}) || !mayBeMissed(metadata)) return false;
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  if (all.some(({ name }) => name === sidecarName)) return false;
  return injectionRequest(metadata)?.list !== "inProcess" || !all.some(evaluatesInProcess);
}

function evaluatesInProcess({ env = [] }: Container): boolean {
  return env.some(({ name, value }) => name.endsWith("RESOLVER") && value === "in-process");
}
