import { type RestClient, unlessNotFound } from "@bunting/kube";
import { podType } from "../api/core-types.js";

/** OpenShift's, on every Pod that it has admitted: by which of its rules. */
const admittedBy = "openshift.io/scc";

/**
 * Whether Pods in the operator's namespace name the user that they run as. OpenShift chooses that of each namespace itself, and refuses Pods that name
 * another; its mark is on the operator's own Pod.
 *
 * @throws KubeError
 */
export async function choosesUser(
  client: Pick<RestClient, "get">,
  pod: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<boolean> {
  const own = await unlessNotFound(client.get({ type: podType, ...pod }, signal));
  return own?.metadata.annotations?.[admittedBy] === undefined;
}
