import { type RestClient, unlessNotFound } from "@bunting/kube";
import { podType } from "../api/core-types.js";

/** The holder of a Lease as it calls itself: by the name of its Pod, `_` and something random. */
export interface LeaseHolder {
  readonly namespace: string;
  readonly identity: string;
}

/**
 * True if the Pod exists that the holder is called after.
 *
 * @throws KubeError
 */
export async function hasPod(
  client: Pick<RestClient, "get">,
  { namespace, identity }: LeaseHolder,
  signal: AbortSignal,
): Promise<boolean> {
  const [name = ""] = identity.split("_");
  return (await unlessNotFound(client.get({ type: podType, namespace, name }, signal))) !== undefined;
}
