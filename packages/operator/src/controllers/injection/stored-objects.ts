import {
  openFeatureApiVersion,
  type FeatureFlagSource,
  type InProcessConfiguration,
} from "@bunting/featureflags/resources";
import type { Condition, KubeObject, ObjectMeta } from "@bunting/kube";
import { readersAnnotation, readersOfMetadata } from "@bunting/protocol";
import { buntingAnnotations } from "../../api/names.js";
import { openShiftUsers } from "../../desired/sidecar-entry.js";

/** What is kept of objects that are watched: whatever is not read takes memory for nothing. */

interface StoredStatus {
  readonly conditions?: readonly Condition[];
  readonly digest?: string;
  readonly usedBy?: number;
}

interface Stored extends KubeObject {
  readonly status?: StoredStatus;
}

export type StoredSource = FeatureFlagSource & Stored;
export type StoredConfiguration = InProcessConfiguration & Stored;

/** Of a FeatureFlagSource: what is compiled, and what was last said about it. The API server lets objects have no spec. */
export function storedSource(object: KubeObject): StoredSource {
  const { spec } = object as { readonly spec?: FeatureFlagSource["spec"] };
  return { ...common(object), kind: "FeatureFlagSource", spec: { sources: [], ...spec } };
}

/** Of an InProcessConfiguration, likewise. */
export function storedConfiguration(object: KubeObject): StoredConfiguration {
  const { spec } = object as { readonly spec?: InProcessConfiguration["spec"] };
  return { ...common(object), kind: "InProcessConfiguration", spec: spec ?? {} };
}

function common(object: KubeObject): Pick<StoredSource, "apiVersion" | "metadata" | "status"> {
  const { conditions, digest, usedBy } = (object as Stored).status ?? {};
  const status = {
    ...(conditions === undefined ? {} : { conditions }),
    ...(digest === undefined ? {} : { digest }),
    ...(usedBy === undefined ? {} : { usedBy }),
  };
  const metadata = essential(object.metadata, [readersAnnotation]);
  const { namespace = "" } = metadata;
  return { apiVersion: openFeatureApiVersion, metadata: { ...metadata, namespace }, status };
}

/** Of a FeatureFlag: with whom it is shared. */
export function storedReaders({ metadata }: KubeObject): KubeObject {
  return { metadata: essential(metadata, [readersAnnotation]) };
}

/** Of a namespace: what its Pods may be, and whether it ends. */
export function storedNamespace({ metadata }: KubeObject): KubeObject {
  const { deletionTimestamp } = metadata;
  return {
    metadata: {
      ...essential(metadata, [openShiftUsers, buntingAnnotations.validation]),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
  };
}

export function storedMetadata({ metadata }: KubeObject): KubeObject {
  return { metadata: essential(metadata, []) };
}

/** The value of its annotation `bunting.dev/readers`. */
export function readersOf(object: KubeObject | undefined): unknown {
  return readersOfMetadata(object?.metadata);
}

function essential(metadata: ObjectMeta, annotationNames: readonly string[]): ObjectMeta {
  const { name, namespace, uid, resourceVersion, generation, annotations = {} } = metadata;
  const kept = annotationNames.flatMap((annotation) => {
    const value = annotations[annotation];
    return value === undefined ? [] : [[annotation, value] as const];
  });
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(generation === undefined ? {} : { generation }),
    ...(kept.length === 0 ? {} : { annotations: Object.fromEntries(kept) }),
  };
}
