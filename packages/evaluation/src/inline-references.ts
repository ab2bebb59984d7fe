import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";

/**
 * flagd replaces references in the text of the document as JSON writes it. There, a name with one of these characters is written
 * differently than it reads, so that no reference to it is ever found.
 */
const unfindableName = /["\\<>&\u0000-\u001f\u2028\u2029]/;

/** Deeper than this nothing is replaced: whoever evaluates such a rule refuses it, and a walk must not exhaust the stack first. */
const maxDepth = 1000;

/**
 * Puts the shared evaluators in the place of the references to them: `{"$ref": "name"}`, wherever it stands. What has no reference
 * keeps its object. A reference without an evaluator stays, as an operator nobody knows; so do references inside of evaluators.
 *
 * @param onEmpty told of a reference to an evaluator with nothing in it, which flagd refuses
 */
export function inlineReferences(
  value: JsonValue,
  evaluators: JsonObject,
  onEmpty: (name: string) => never,
): JsonValue {
  const inline = (value: JsonValue, depth: number): JsonValue => {
    if (typeof value !== "object" || value === null || depth > maxDepth) return value;
    return isJsonObject(value) ? inlineInObject(value, depth) : inlineInList(value, depth);
  };

  const inlineInObject = (object: JsonObject, depth: number): JsonValue => {
    const keys = Object.keys(object);
    if (keys.length === 1 && keys[0] === "$ref") return referenced(object["$ref"]) ?? object;
    let members: [string, JsonValue][] | undefined;
    for (const key of keys) {
      const member = object[key] ?? null;
      const inlined = inline(member, depth + 1);
      if (inlined !== member) (members ??= []).push([key, inlined]);
    }
    // Spread and fromEntries define members rather than assign them: a key called "__proto__" stays a key.
    return members === undefined ? object : { ...object, ...Object.fromEntries(members) };
  };

  const inlineInList = (list: readonly JsonValue[], depth: number): JsonValue => {
    let result: JsonValue[] | undefined;
    for (const [i, item] of list.entries()) {
      const inlined = inline(item, depth + 1);
      if (inlined !== item) (result ??= [...list])[i] = inlined;
    }
    return result ?? list;
  };

  const referenced = (name: JsonValue | undefined): JsonValue | undefined => {
    if (typeof name !== "string" || !Object.hasOwn(evaluators, name) || unfindableName.test(name))
      return undefined;
    const evaluator = evaluators[name];
    return isEmpty(evaluator) ? onEmpty(name) : evaluator;
  };

  return inline(value, 0);
}

function isEmpty(evaluator: JsonValue | undefined): boolean {
  if (typeof evaluator === "object" && evaluator !== null) return Object.keys(evaluator).length === 0;
  return evaluator === "";
}
