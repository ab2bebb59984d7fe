import type { OwnerReference } from "@bunting/kube";
import type { OperatorWiring } from "./operator-wiring.js";

/** This process's own Deployment, looked up until it is found: a Pod never gets another one. */
export function ownDeploymentOf({
  options,
  parts,
  cluster,
  instance,
}: OperatorWiring): (signal: AbortSignal) => Promise<OwnerReference | undefined> {
  const pod = { namespace: options.namespace, name: instance };
  let found: OwnerReference | undefined;
  return async (signal) => (found ??= await parts.ownDeployment(cluster.client, pod, signal));
}
