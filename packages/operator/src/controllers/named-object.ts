import type { KubeObject, ObjectMeta } from "@bunting/kube";

/** An object of which nothing but its names is kept. */
export interface NamedObject extends KubeObject {
  readonly metadata: ObjectMeta & { readonly namespace: string };
}

/** The transform of an informer that keeps names alone: others' objects can't fill the memory of the leader. */
export function namedObject({ metadata }: KubeObject): NamedObject {
  const { namespace = "", name, uid = "", resourceVersion = "" } = metadata;
  return { metadata: { namespace, name, uid, resourceVersion } };
}
