import type { KubeObject } from "../rest/resource.js";

/** As `metav1.OwnerReference`. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** True for the one owner that manages the object. */
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** The owner that manages the object; undefined if there is none. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  const { ownerReferences } = metadata as { readonly ownerReferences?: readonly OwnerReference[] };
  return ownerReferences?.find(({ controller }) => controller === true);
}
