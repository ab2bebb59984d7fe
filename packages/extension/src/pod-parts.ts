import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import type { ExtensionObject } from "./extension-request.js";

/** Steps to the Pod template of a workload. */
const template = ["spec", "template"] as const;

/** The object with each container changed: that of a `Sidecar`, or those of the Pod template of a Deployment. Init containers stay as they are. */
export function mapContainers(
  object: ExtensionObject,
  change: (container: JsonObject) => JsonObject,
): ExtensionObject {
  if (object.kind === "Sidecar")
    return withValueAt(object, ["spec", "container"], (container) =>
      isJsonObject(container) ? change(container) : container,
    );
  return withValueAt(object, [...template, "spec", "containers"], (containers) =>
    Array.isArray(containers)
      ? (containers as readonly JsonValue[]).map((each) => (isJsonObject(each) ? change(each) : each))
      : containers,
  );
}

/** The object with other annotations or labels of its Pods; an object that makes none stays as it is. A `Sidecar` has no labels. */
export function mapPodTexts(
  object: ExtensionObject,
  field: "annotations" | "labels",
  change: (texts: JsonObject) => JsonObject,
): ExtensionObject {
  if (object.kind === "Sidecar") return field === "labels" ? object : mapTexts(object, field, change);
  if (!isJsonObject(valueAt(object, template))) return object;
  return withValueAt(object, [...template, "metadata", field], (texts) => textsOr(texts, change));
}

/** The object with other annotations or labels. A `Sidecar` has no labels. */
export function mapTexts(
  object: ExtensionObject,
  field: "annotations" | "labels",
  change: (texts: JsonObject) => JsonObject,
): ExtensionObject {
  if (object.kind === "Sidecar" && field === "labels") return object;
  return withValueAt(object, ["metadata", field], (texts) => textsOr(texts, change));
}

/** An object that had none of them, and gets none, stays without. */
function textsOr(
  texts: JsonValue | undefined,
  change: (texts: JsonObject) => JsonObject,
): JsonValue | undefined {
  const changed = change(isJsonObject(texts) ? texts : {});
  return texts === undefined && Object.keys(changed).length === 0 ? undefined : changed;
}

function valueAt(object: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const step of path) value = isJsonObject(value) ? value[step] : undefined;
  return value;
}

/** A copy with another value at the path; objects on the way are made. Undefined leaves it as it is. */
function withValueAt<Changed extends JsonObject>(
  object: Changed,
  [step = "", ...rest]: readonly string[],
  change: (value: JsonValue | undefined) => JsonValue | undefined,
): Changed {
  const inner = object[step];
  if (rest.length === 0) {
    const changed = change(inner);
    return changed === undefined || changed === inner ? object : { ...object, [step]: changed };
  }
  const before = isJsonObject(inner) ? inner : {};
  const after = withValueAt(before, rest, change);
  return after === before ? object : { ...object, [step]: after };
}
