import {
  emptyFlagDocument,
  isJsonObject,
  isNamespaceName,
  isObjectName,
  parseReaders,
  readersAnnotation,
  readersOfMetadata,
  remoteProviderOf,
  topicKey,
  type JsonObject,
  type JsonValue,
  type TopicKey,
} from "@bunting/protocol";
import { didYouMean, nearestWord, quoted } from "@bunting/runtime/options";
import { openFeatureApiVersion } from "../resource/custom-resource.js";
import { parseRemoteFlagProvider } from "../resource/remote-flag-provider.js";
import { resourceFields } from "../resource/resource-fields.js";
import { objectError, type ObjectError, type ObjectReading, type ObjectWarning } from "./object-reading.js";
import { readFlags } from "./read-flags.js";

const groupName = "core.openfeature.dev";
const group = `${groupName}/`;
/** Kinds of the group that have no flags, and the older name of each. */
const kindsBeside: readonly string[] = [
  "FeatureFlagSource",
  "FeatureFlagSourceConfiguration",
  "InProcessConfiguration",
  "ClientSideConfiguration",
  "Flagd",
];
/** What a FeatureFlag without flags of its own may have. */
const besideFlags: readonly string[] = ["remoteFlagProvider", "rollout"];

/** Reads a Kubernetes object: a FeatureFlag, or something else (undefined). */
export function readFeatureFlag(object: JsonObject): ObjectReading {
  // A field without a value is absent.
  const { apiVersion = null, kind = null, spec } = object;
  const isOfGroup = typeof apiVersion === "string" && apiVersion.startsWith(group);
  if (kind !== "FeatureFlag" && kind !== "FeatureFlagConfiguration") {
    if (!isOfGroup) return undefined;
    if (kind === null)
      return objectError("manifest", `there is an "apiVersion" but no "kind": expected "FeatureFlag"`);
    return misspeltKind(kind, apiVersion);
  }
  if (apiVersion === null) {
    const message = `this ${kind} has no "apiVersion": expected "${openFeatureApiVersion}"`;
    return objectError("manifest", message, ["kind"]);
  }
  if (!isOfGroup) return misspeltGroup(apiVersion);
  if (apiVersion !== openFeatureApiVersion || kind !== "FeatureFlag") {
    const message = `a ${kind} of ${apiVersion} is not read, only a FeatureFlag of ${openFeatureApiVersion}: convert it`;
    return objectError("manifest", message, ["apiVersion"]);
  }
  const topic = readTopic(object["metadata"]);
  if (typeof topic !== "string") return topic;
  if (spec !== undefined && spec !== null && !isJsonObject(spec))
    return objectError("document", `"spec" must be an object`, ["spec"], topic);
  return withReaders(withOthers(readSpec(object, topic, spec ?? undefined), object), object);
}

/** Other kinds of the group, and those of other groups, are read by others. */
function misspeltKind(kind: JsonValue, apiVersion: string): ObjectReading {
  if (typeof kind !== "string" || kindsBeside.includes(kind)) return undefined;
  if (nearestWord(kind, ["FeatureFlag", ...kindsBeside]) !== "FeatureFlag") return undefined;
  const message = `${apiVersion} has no kind ${quoted(kind)}: did you mean "FeatureFlag"?`;
  return objectError("manifest", message, ["kind"]);
}

function misspeltGroup(apiVersion: JsonValue): ObjectReading {
  if (typeof apiVersion !== "string") return undefined;
  if (nearestWord(apiVersion.split("/")[0] ?? "", [groupName]) === undefined) return undefined;
  const message = `${quoted(apiVersion)} is not the "apiVersion" of a FeatureFlag: did you mean "${openFeatureApiVersion}"?`;
  return objectError("manifest", message, ["apiVersion"]);
}

function readSpec(object: JsonObject, topic: TopicKey, spec: JsonObject | undefined): ObjectReading {
  const flagSpec = spec?.["flagSpec"];
  if (flagSpec === undefined || flagSpec === null) {
    const flags = { topic, document: emptyFlagDocument, written: {}, path: [] };
    // Without anything else it is meant to have no flags.
    const others = Object.keys(spec ?? {}).filter((field) => !besideFlags.includes(field));
    const isMisplaced = others.length > 0 || "flagSpec" in object || "flags" in object;
    const message = `there is no "spec.flagSpec", so this FeatureFlag is served without flags: put "flags" below it`;
    const warning = { kind: "other", path: ["spec"], message } as const;
    return { flags, warnings: isMisplaced ? [warning] : [] };
  }
  return readFlags(topic, flagSpec, ["spec", "flagSpec"]);
}

/** Adds the remote that it names, and what is wrong beside its flags. */
function withOthers(read: ObjectReading, object: JsonObject): ObjectReading {
  if (read === undefined || "reason" in read) return read;
  const provider = remoteProviderOf(object);
  const { spec = null } = object;
  return {
    flags: provider === undefined ? read.flags : { ...read.flags, provider },
    warnings: isJsonObject(spec) ? [...read.warnings, ...warningsBeside(spec)] : read.warnings,
  };
}

function warningsBeside({ flagSpec = null, ...others }: JsonObject): readonly ObjectWarning[] {
  const { rollout = null, remoteFlagProvider = null } = others;
  const remote = remoteFlagProvider === null ? { problems: [] } : parseRemoteFlagProvider(remoteFlagProvider);
  return [
    // Without flagSpec, another field is one in its place.
    ...(flagSpec === null ? [] : unknownFields(others, besideFlags, ["spec"])),
    ...(isJsonObject(rollout) ? unknownFields(rollout, resourceFields.flagRollout, ["spec", "rollout"]) : []),
    ...("problems" in remote ? remote.problems : []).map(({ message, path }) => ({
      kind: "other" as const,
      message: `the remote is not asked: ${message}`,
      path: ["spec", "remoteFlagProvider", ...path],
    })),
  ];
}

function unknownFields(
  object: JsonObject,
  known: readonly string[],
  path: readonly string[],
): readonly ObjectWarning[] {
  const unknown = Object.keys(object).filter((field) => !known.includes(field));
  return unknown.map((field) => {
    const message = `${quoted(field)} is not a field of a FeatureFlag and is not read${didYouMean(field, known)}`;
    return { kind: "other", message, path: [...path, field] };
  });
}

/** Adds what the annotation says about who may read it. */
function withReaders(read: ObjectReading, { metadata }: JsonObject): ObjectReading {
  const { readers, warnings } = parseReaders(readersOfMetadata(metadata));
  if (read === undefined || "reason" in read || (readers === undefined && warnings.length === 0)) return read;
  const path = ["metadata", "annotations", readersAnnotation];
  return {
    flags: readers === undefined ? read.flags : { ...read.flags, readers },
    warnings: [...read.warnings, ...warnings.map((message) => ({ kind: "other", path, message }) as const)],
  };
}

function readTopic(metadata: JsonObject[string] | undefined): TopicKey | ObjectError {
  if (!isJsonObject(metadata)) return objectError("manifest", `this FeatureFlag has no "metadata"`);
  const { name, namespace: given = "" } = metadata;
  const namespace = given === "" || given === null ? "default" : given;
  if (typeof name !== "string" || !isObjectName(name)) {
    const message = `"metadata.name" must be a name that Kubernetes accepts: small letters, digits, "-" and "."`;
    return objectError("manifest", message, ["metadata", "name"]);
  }
  if (typeof namespace !== "string" || !isNamespaceName(namespace)) {
    const message = `"metadata.namespace" must be a name that Kubernetes accepts: small letters, digits and "-"`;
    return objectError("manifest", message, ["metadata", "namespace"]);
  }
  return topicKey(namespace, name);
}
