import { type KubeObject, type RestClient, unlessNotFound } from "@bunting/kube";
import { podType } from "../api/core-types.js";
import type { PodManifest } from "../api/pod-manifest.js";

/** OpenShift's, on every Pod that it has admitted: by which of its rules. */
const admittedBy = "openshift.io/scc";

/** The place of the operator's own Pod, beside which it makes others. */
export interface OwnPlace {
  /** Whether Pods there name the user that they run as. OpenShift chooses that of each namespace itself, and refuses Pods that name another. */
  readonly choosesUser: boolean;
  /** Whether the operator has the address of a node, which is of no namespace. */
  readonly isOnNode: boolean;
}

/** @throws KubeError */
export async function ownPlace(
  client: Pick<RestClient, "get">,
  pod: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<OwnPlace> {
  const own: (KubeObject & Partial<PodManifest>) | undefined = await unlessNotFound(
    client.get({ type: podType, ...pod }, signal),
  );
  return {
    choosesUser: own?.metadata.annotations?.[admittedBy] === undefined,
    isOnNode: own?.spec?.hostNetwork === true,
  };
}
