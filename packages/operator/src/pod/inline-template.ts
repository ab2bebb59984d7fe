import {
  inlineFlagName,
  inlineFlagsOf,
  inlineKinds,
  maxInlineNameLength,
  requestAnnotations,
  type InlineKind,
} from "@bunting/featureflags/resources";
import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { annotations } from "../api/names.js";

/**
 * A workload whose Pod template names the FeatureFlag of the workload's own flags: among those that the template names already, as the last one, so
 * that its flags win. Without flags of its own, it no longer names it. Its name stays the same while the flags are edited, so that an edit
 * replaces no Pod. deploy/policies/inline-flags.yaml does the same, and a test holds both to equal workloads.
 *
 * @returns the same object if nothing is to be changed
 */
export function withInlineTemplate(kind: InlineKind, workload: JsonObject): JsonObject {
  const { name, annotations: given } = workloadMetadata(workload);
  if (name === "" || name.length > maxInlineNameLength) return workload;
  const wants = inlineFlagsOf(given) !== undefined;
  const own = inlineFlagName(kind, name);
  const { template: path } = inlineKinds[kind];
  const template = valueAt(workload, path);
  if (!isJsonObject(template)) return workload;
  const ofTemplate = workloadMetadata(template).annotations;
  const { [requestAnnotations.flag]: named = "" } = ofTemplate;
  const names = named.split(",").map((each) => each.trim());
  if (names.includes(own) === wants) return workload;
  const others = names.filter((each) => each !== own && each !== "");
  const text = [...others, ...(wants ? [own] : [])].join(",");
  const rest = Object.entries(ofTemplate).filter(([name]) => name !== requestAnnotations.flag);
  const next = {
    ...(wants ? { [annotations.enabled]: "true" } : {}),
    ...Object.fromEntries(rest),
    ...(text === "" ? {} : { [requestAnnotations.flag]: text }),
  };
  const metadata = isJsonObject(template["metadata"] ?? null) ? (template["metadata"] as JsonObject) : {};
  return withValue(workload, path, { ...template, metadata: { ...metadata, annotations: next } });
}

interface WorkloadMetadata {
  /** Empty while it is to be generated. */
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Metadata of a workload, or of its Pod template, as far as they are what they should be. */
export function workloadMetadata({ metadata = null }: JsonObject): WorkloadMetadata {
  const { name, annotations = null } = isJsonObject(metadata) ? metadata : {};
  return {
    name: typeof name === "string" ? name : "",
    annotations: isJsonObject(annotations) ? (annotations as Readonly<Record<string, string>>) : {},
  };
}

function valueAt(object: JsonObject, path: readonly string[]): JsonValue {
  let value: JsonValue = object;
  for (const field of path) value = isJsonObject(value) ? (value[field] ?? null) : null;
  return value;
}

function withValue(
  object: JsonObject,
  [field = "", ...rest]: readonly string[],
  value: JsonObject,
): JsonObject {
  if (rest.length === 0) return { ...object, [field]: value };
  const inner = object[field] ?? null;
  return { ...object, [field]: withValue(isJsonObject(inner) ? inner : {}, rest, value) };
}
