import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { stepsOf } from "./conformance/pointer.js";
import type { ExtensionObject } from "./extension-request.js";
import { isMightyText } from "./mighty-texts.js";

/**
 * The fields in which two objects differ, as JSON pointers: the innermost ones, so that `/metadata/labels/team` is named rather than `/metadata`. Elements
 * that follow those that a list had are `/-` of it, as in JSON Patch; a list that got shorter, or has an element of the same name once more, has changed as
 * a whole.
 */
export function changedFields(before: JsonValue, after: JsonValue): readonly string[] {
  if (isJsonObject(before) && isJsonObject(after)) return changedMembers(before, after);
  // With an object, all that was in it went, or all that is in it came.
  if (isJsonObject(before) || isJsonObject(after))
    return [...new Set(["", ...memberPointers(before), ...memberPointers(after)])];
  if (!Array.isArray(before) || !Array.isArray(after)) return isDeepStrictEqual(before, after) ? [] : [""];
  const [old, now] = [before, after] as readonly (readonly JsonValue[])[];
  if (old === undefined || now === undefined || now.length < old.length) return [""];
  const inside = old.flatMap((value, index) =>
    below(String(index), changedFields(value, now[index] ?? null)),
  );
  if (now.length === old.length) return inside;
  const names = new Set(old.flatMap(nameOf));
  // A variable that comes again replaces the one before, though that is still there.
  const isAgain = now
    .slice(old.length)
    .flatMap(nameOf)
    .some((name) => names.has(name));
  return [...inside, isAgain ? "" : "/-"];
}

function nameOf(element: JsonValue): readonly string[] {
  const name = isJsonObject(element) ? element["name"] : undefined;
  return typeof name === "string" ? [name] : [];
}

function changedMembers(before: JsonObject, after: JsonObject): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    // A name such as `constructor` is there by inheritance.
    const [old, now] = [before, after].map((each) => (Object.hasOwn(each, name) ? each[name] : undefined));
    if (old === undefined || now === undefined)
      return old === now ? [] : below(name, memberPointers(old ?? now));
    return below(name, changedFields(old, now));
  });
}

/** What came or went is named by its members, as what has changed is: `mutates` may list only some of them. */
function memberPointers(value: JsonValue | undefined): readonly string[] {
  if (!isJsonObject(value) || Object.keys(value).length === 0) return [""];
  return Object.entries(value).flatMap(([name, inner]) => below(name, memberPointers(inner)));
}

function below(step: string, pointers: readonly string[]): readonly string[] {
  return pointers.map((pointer) => `/${pointerStep(step)}${pointer}`);
}

/** A name as JSON pointers have it (RFC 6901). */
export function pointerStep(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** What no extension may change, whatever its Extension lists: which object it is, and whose. `ownNames` belong to it. */
const fixed = [
  "/apiVersion",
  "/kind",
  "/metadata/name",
  "/metadata/generateName",
  "/metadata/namespace",
  "/metadata/uid",
  "/metadata/resourceVersion",
  "/metadata/ownerReferences",
  "/metadata/finalizers",
  "/metadata/managedFields",
  // Pods get them, and would not be deleted any more.
  "/spec/template/metadata/finalizers",
];

/** Labels and annotations by which the operator, its policies and its webhooks know what they have made, and what is asked of them. */
const ownNames =
  /^(\/spec\/template)?\/metadata\/(labels|annotations)\/(([\w-]+\.)*(bunting\.dev|openfeature\.(dev|io|agent))~1|app\.kubernetes\.io~1managed-by$)/;

const text = /^(\/spec\/template)?\/metadata\/(labels|annotations)(\/[^/]*)?$/;

/** Resources that API servers know themselves. Those whose names have a domain, and claims, are devices of the node. */
const resource =
  /^\/spec\/(container|template\/spec\/containers\/\d+)\/resources(\/(requests|limits)(\/[^/~]+)?)?$/;

/** What an extension may change if its Extension lists nothing: labels, annotations and resources, of the object and of the Pods that it makes. */
function isAllowedByDefault(field: string): boolean {
  return text.test(field) ? !isMightyText(stepsOf(field).at(-1) ?? "") : resource.test(field);
}

/**
 * The changed fields that an Extension with this `mutates` may not change; without one, by the default. A pointer stands for all that is below it:
 * `/spec/template/spec/containers/-` for further containers only.
 */
export function unlistedFields(
  before: ExtensionObject,
  after: ExtensionObject,
  mutates?: readonly string[],
): readonly string[] {
  const isListed = (field: string): boolean =>
    mutates === undefined ? isAllowedByDefault(field) : mutates.some((pointer) => isAt(field, pointer));
  return changedFields(before, after).filter((field) => isFixedField(field) || !isListed(field));
}

/** True if no Extension may list the field. */
export function isFixedField(field: string): boolean {
  return ownNames.test(field) || fixed.some((pointer) => isAt(field, pointer));
}

function isAt(field: string, pointer: string): boolean {
  return field === pointer || field.startsWith(`${pointer}/`);
}
