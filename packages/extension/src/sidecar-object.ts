import type { JsonObject } from "@bunting/protocol";
import type { ExtensionObject, ExtensionObjectMetadata } from "./extension-request.js";

/**
 * The object of the target `Sidecar`: what Pods of a namespace get that have one text in their annotation. No cluster stores it. One answer is for all
 * these Pods, so that an extension never delays a Pod.
 */
export interface SidecarObject extends ExtensionObject {
  readonly apiVersion: "bunting.dev/v1alpha1";
  readonly kind: "Sidecar";
  readonly metadata: SidecarMetadata;
  /**
   * `container` is the sidecar, as Kubernetes has containers. It is absent for applications that evaluate flags in process: they get variables only. Pods
   * of the class Guaranteed get it with limits equal to its requests.
   */
  readonly spec: JsonObject;
}

export interface SidecarMetadata extends ExtensionObjectMetadata {
  /** The text of the annotation that Pods have, such as `storefront` or `storefront,shared/common`. */
  readonly name: string;
  readonly namespace: string;
  /** Annotations that the Pods get. */
  readonly annotations: Readonly<Record<string, string>>;
}
