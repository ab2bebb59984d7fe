import {
  emptyFlagDocument,
  isJsonObject,
  isNamespaceName,
  isObjectName,
  parseReaders,
  readersAnnotation,
  readersOfMetadata,
  topicKey,
  type JsonObject,
  type TopicKey,
} from "@bunting/protocol";
import { errorAt, type ManifestError, type ManifestPlace, type ReadPlace } from "./manifest.js";
import { placed, readFlags } from "./read-flags.js";

const group = "core.openfeature.dev/";
const apiVersionRead = `${group}v1beta1`;

/** Reads a Kubernetes object: a FeatureFlag, or something else (undefined). */
export function readFeatureFlag(place: ManifestPlace, object: JsonObject): ReadPlace {
  const { apiVersion, kind, spec } = object;
  const isOfGroup = typeof apiVersion === "string" && apiVersion.startsWith(group);
  if (kind !== "FeatureFlag" && kind !== "FeatureFlagConfiguration") {
    if (kind !== undefined || !isOfGroup) return undefined;
    return errorAt(place, "manifest", `there is an "apiVersion" but no "kind": expected "FeatureFlag"`);
  }
  if (apiVersion === undefined) {
    const message = `this ${kind} has no "apiVersion": expected "${apiVersionRead}"`;
    return errorAt(place, "manifest", message, ["kind"]);
  }
  if (!isOfGroup) return undefined;
  if (apiVersion !== apiVersionRead || kind !== "FeatureFlag") {
    const message = `a ${kind} of ${apiVersion} is not read, only a FeatureFlag of ${apiVersionRead}: convert it`;
    return errorAt(place, "manifest", message, ["apiVersion"]);
  }
  const topic = readTopic(place, object["metadata"]);
  if (typeof topic !== "string") return topic;
  if (spec !== undefined && spec !== null && !isJsonObject(spec)) {
    return errorAt(place, "document", `"spec" must be an object`, ["spec"], topic);
  }
  return withReaders(readSpec(place, object, topic, spec ?? undefined), place, object);
}

function readSpec(
  place: ManifestPlace,
  object: JsonObject,
  topic: TopicKey,
  spec: JsonObject | undefined,
): ReadPlace {
  const flagSpec = spec?.["flagSpec"];
  if (flagSpec === undefined || flagSpec === null) {
    const flags = placed(place, topic, { document: emptyFlagDocument, written: {} });
    // Without anything else it is meant to have no flags.
    const isMisplaced = Object.keys(spec ?? {}).length > 0 || "flagSpec" in object || "flags" in object;
    const message = `there is no "spec.flagSpec", so this FeatureFlag is served without flags: put "flags" below it`;
    const warning = { kind: "other", ...flags.positionOf(["spec"]), message } as const;
    return { flags, warnings: isMisplaced ? [warning] : [] };
  }
  return readFlags(place, topic, flagSpec, ["spec", "flagSpec"]);
}

/** Adds what the annotation says about who may read it. */
function withReaders(read: ReadPlace, place: ManifestPlace, { metadata }: JsonObject): ReadPlace {
  const { readers, warnings } = parseReaders(readersOfMetadata(metadata));
  if (read === undefined || "reason" in read || (readers === undefined && warnings.length === 0)) return read;
  const path = [...place.path, "metadata", "annotations", readersAnnotation];
  const position = place.document.positionOf(path);
  return {
    flags: readers === undefined ? read.flags : { ...read.flags, readers },
    warnings: [
      ...read.warnings,
      ...warnings.map((message) => ({ kind: "other", ...position, message }) as const),
    ],
  };
}

function readTopic(place: ManifestPlace, metadata: JsonObject[string] | undefined): TopicKey | ManifestError {
  if (!isJsonObject(metadata)) return errorAt(place, "manifest", `this FeatureFlag has no "metadata"`);
  const { name } = metadata;
  const namespace = metadata["namespace"] ?? "default";
  if (typeof name !== "string" || !isObjectName(name)) {
    const message = `"metadata.name" must be a name that Kubernetes accepts: small letters, digits, "-" and "."`;
    return errorAt(place, "manifest", message, ["metadata", "name"]);
  }
  if (typeof namespace !== "string" || !isNamespaceName(namespace)) {
    const message = `"metadata.namespace" must be a name that Kubernetes accepts: small letters, digits and "-"`;
    return errorAt(place, "manifest", message, ["metadata", "namespace"]);
  }
  return topicKey(namespace, name);
}
