import { type OwnerReference, type RestClient, unlessNotFound } from "@bunting/kube";
import { podType } from "../api/core-types.js";

/** Kubernetes puts it on Pods of a ReplicaSet of a Deployment, and at the end of the ReplicaSet's name. */
const hashLabel = "pod-template-hash";
const deployments = { group: "apps", version: "v1", plural: "deployments" };

/**
 * The Deployment whose Pod this process runs in, as the owner of what the operator makes for the whole cluster: with it, that is garbage. It is
 * found by the Pod's owner, whatever its name is, without reading ReplicaSets.
 *
 * @param pod in the operator's namespace
 * @returns undefined if the process does not run in a Pod of a Deployment
 * @throws KubeError
 */
export async function ownDeployment(
  client: Pick<RestClient, "get">,
  pod: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<OwnerReference | undefined> {
  const { namespace } = pod;
  const own = await unlessNotFound(client.get({ type: podType, ...pod }, signal));
  const { ownerReferences = [] } = (own?.metadata ?? {}) as { readonly ownerReferences?: OwnerReference[] };
  const replicaSet = ownerReferences.find(
    ({ kind, controller }) => kind === "ReplicaSet" && controller === true,
  );
  const ending = `-${own?.metadata.labels?.[hashLabel] ?? ""}`;
  if (replicaSet === undefined || ending === "-" || !replicaSet.name.endsWith(ending)) return undefined;
  const name = replicaSet.name.slice(0, -ending.length);
  const deployment = await unlessNotFound(client.get({ type: deployments, namespace, name }, signal));
  const uid = deployment?.metadata.uid;
  return uid === undefined ? undefined : { apiVersion: "apps/v1", kind: "Deployment", name, uid };
}
