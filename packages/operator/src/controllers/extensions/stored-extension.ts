import type { KubeObject } from "@bunting/kube";
import {
  extensionApiVersion,
  type Extension,
  type ExtensionService,
  type ExtensionSpec,
} from "../../api/extension.js";

interface Stored {
  readonly spec?: Omit<Partial<ExtensionSpec>, "service"> & { readonly service?: Partial<ExtensionService> };
  readonly status?: Extension["status"];
}

/** As a store has it. */
export type StoredExtension = Extension & KubeObject;

/** Of an Extension: what is asked, and what was last said about it. Managed fields and whatever else is not read take memory for nothing. */
export function storedExtension(object: KubeObject): StoredExtension {
  const { name, uid, generation, resourceVersion } = object.metadata;
  const { creationTimestamp } = object.metadata as Extension["metadata"];
  const { spec = {}, status } = object as Stored;
  return {
    apiVersion: extensionApiVersion,
    kind: "Extension",
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(generation === undefined ? {} : { generation }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    spec: specOf(spec),
    ...(status === undefined ? {} : { status }),
  };
}

/** An older definition of the type, or one of somebody else, fills in no defaults. */
function specOf({ service, ...spec }: NonNullable<Stored["spec"]>): ExtensionSpec {
  return {
    ...{ hooks: [], objects: [], timeout: "2s", failurePolicy: "Ignore", priority: 0 },
    ...spec,
    ...(service === undefined
      ? {}
      : { service: { ...{ namespace: "", name: "", port: 8080, path: "/" }, ...service } }),
  };
}
