import {
  openFeatureApiVersion,
  type FeatureFlagSource,
  type InProcessConfiguration,
} from "@bunting/featureflags/resources";
import type { Condition, KubeObject, ObjectMeta } from "@bunting/kube";
import { readersAnnotation, readersOfMetadata } from "@bunting/protocol";
import { buntingAnnotations } from "../../api/names.js";
import { openShiftUsers } from "../../desired/sidecar-entry.js";
import type { Unkept } from "../../sources/source-plan.js";
import type { SourceProblem } from "../../sources/source-problem.js";
import { configurationsIn } from "../extensions/configurations-of.js";
import { ownConditions } from "./source-conditions.js";
import type { KeptSpecs } from "./kept-specs.js";

/** What is kept of objects that are watched: whatever is not read takes memory for nothing. */

interface StoredStatus {
  readonly conditions?: readonly Condition[];
  readonly digest?: string;
  readonly usedBy?: number;
}

interface Stored extends KubeObject {
  readonly status?: StoredStatus;
}

export type StoredSource = FeatureFlagSource & Stored & Unkept;
export type StoredConfiguration = InProcessConfiguration & Stored & Unkept;

const keptConditions: ReadonlySet<string> = new Set([...ownConditions, "ProxyReady"]);
/** More than we write in one. */
const maxConditionLength = 2_048;
const maxDigestLength = 64;

/** Of a FeatureFlagSource: what is compiled, and what was last said about it. The API server lets objects have no spec. */
export function storedSource(object: KubeObject, kept: KeptSpecs): StoredSource {
  const kind = "FeatureFlagSource";
  const { spec } = object as { readonly spec?: FeatureFlagSource["spec"] };
  const unkept = problemOf(kind, object, spec, kept);
  if (unkept !== undefined) return { ...common(object, []), kind, spec: { sources: [] }, unkept };
  return { ...common(object, annotationsOf(object)), kind, spec: { sources: [], ...spec } };
}

/** Of an InProcessConfiguration, likewise. */
export function storedConfiguration(object: KubeObject, kept: KeptSpecs): StoredConfiguration {
  const kind = "InProcessConfiguration";
  const { spec = {} } = object as { readonly spec?: InProcessConfiguration["spec"] };
  const unkept = problemOf(kind, object, spec, kept);
  return unkept === undefined
    ? { ...common(object, annotationsOf(object)), kind, spec }
    : { ...common(object, []), kind, spec: {}, unkept };
}

/** Why the spec is not to be kept, nor with whom the object is shared. */
function problemOf(
  kind: string,
  object: KubeObject,
  spec: object | undefined,
  kept: KeptSpecs,
): SourceProblem | undefined {
  const { namespace = "", name } = object.metadata;
  const annotations = annotationsOf(object).map((annotation) => object.metadata.annotations?.[annotation]);
  return kept.admit(
    namespace,
    `${kind}/${name}`,
    annotations.length === 0 ? (spec ?? {}) : { spec, annotations },
  );
}

/** The annotations that say with whom it is shared, and what extensions are told. */
function annotationsOf({ metadata: { annotations = {} } }: KubeObject): readonly string[] {
  return [
    ...(annotations[readersAnnotation] === undefined ? [] : [readersAnnotation]),
    ...Object.keys(configurationsIn(annotations)),
  ];
}

/** To be called when a FeatureFlagSource or an InProcessConfiguration is gone. */
export function releaseSpec({ kind, metadata }: StoredSource | StoredConfiguration, kept: KeptSpecs): void {
  const { namespace, name } = metadata;
  kept.release(namespace, `${kind}/${name}`);
}

/** True for conditions that we write, as we write them: whoever may write a status could fill the memory with others. */
function isKept({ type, reason, message }: Condition): boolean {
  return keptConditions.has(type) && reason.length + message.length <= maxConditionLength;
}

function common(
  object: KubeObject,
  annotationNames: readonly string[],
): Pick<StoredSource, "apiVersion" | "metadata" | "status"> {
  const { conditions, digest, usedBy } = (object as Stored).status ?? {};
  const status = {
    ...(conditions === undefined ? {} : { conditions: conditions.filter(isKept) }),
    ...(digest === undefined || digest.length > maxDigestLength ? {} : { digest }),
    ...(usedBy === undefined ? {} : { usedBy }),
  };
  const metadata = essential(object.metadata, annotationNames);
  const { namespace = "" } = metadata;
  return { apiVersion: openFeatureApiVersion, metadata: { ...metadata, namespace }, status };
}

/** Of a FeatureFlag: with whom it is shared; with nobody if there is no room for that. */
export function storedReaders(object: KubeObject, kept: KeptSpecs): KubeObject {
  const { metadata } = object;
  const { namespace = "", name } = metadata;
  releaseReaders(object, kept);
  const readers = readersOf(object);
  const isKept =
    readers !== undefined && kept.admit(namespace, `FeatureFlag/${name}`, { readers }) === undefined;
  return { metadata: essential(metadata, isKept ? [readersAnnotation] : []) };
}

/** To be called when a FeatureFlag is gone. */
export function releaseReaders({ metadata: { namespace = "", name } }: KubeObject, kept: KeptSpecs): void {
  kept.release(namespace, `FeatureFlag/${name}`);
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
