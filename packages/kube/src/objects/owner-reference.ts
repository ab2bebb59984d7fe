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

/** An owner; objects from a list lack apiVersion and kind. */
export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string };
}

/** The reference that makes an object the owner's: it is garbage when the owner is gone. Both must be in one namespace, or the owner in none. */
export function ownerReference({ apiVersion, kind, metadata: { name, uid } }: Owner): OwnerReference {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** The owner that manages the object; undefined if there is none. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  const { ownerReferences } = metadata as { readonly ownerReferences?: readonly OwnerReference[] };
  return ownerReferences?.find(({ controller }) => controller === true);
}
