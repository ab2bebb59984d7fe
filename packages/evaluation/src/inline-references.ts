import { isJsonObject, unservable, type JsonObject, type JsonValue } from "@bunting/protocol";

/**
 * flagd replaces references in the JSON text of the document. A name with one of these characters is escaped there, so that flagd never
 * finds a reference to it.
 */
const unfindableName = /["\\<>&\u0000-\u001f\u2028\u2029]/;

/** Below this depth nothing is replaced: the evaluation refuses such a rule, and this walk must not exhaust the stack before. */
const maxDepth = 1000;

/** The one member of what stands for an evaluator that can't be served: why. No editor writes half a surrogate pair. */
const unservableMark = "\ud800 unservable";

/** How much a flag may grow by its references, in bytes of JSON: in-process providers get it written out. */
const maxReferencedBytes = 1024 * 1024;

/** About how many bytes of JSON an evaluator is. */
const evaluatorBytes = new WeakMap<object, number>();

/** The evaluators of a document in the form that `inlineReferences` takes: safe to walk, however deep they were. */
export function evaluatorsOf(object: JsonObject): JsonObject {
  const problems = new Map<string, string>();
  for (const [name, evaluator] of Object.entries(object)) {
    const problem = unservable(evaluator);
    if (problem !== undefined) problems.set(name, problem);
  }
  if (problems.size === 0) return object;
  return Object.fromEntries(
    Object.entries(object).map(([name, evaluator]) => {
      const problem = problems.get(name);
      return [name, problem === undefined ? evaluator : { [unservableMark]: problem }] as const;
    }),
  );
}

/**
 * Replaces references, `{"$ref": "name"}`, by the shared evaluators they name. Values without references keep their object. A reference
 * without an evaluator stays, and so becomes an unknown operator; so do references inside of evaluators.
 *
 * @param refuse called with the reason if references can't be replaced: an evaluator is empty, which flagd refuses, or nested too deep, or
 * they are too many; or if a number is too large for JSON
 * @param onBytes called with about how many bytes of JSON the value grew by, if it has references
 */
export function inlineReferences(
  value: JsonValue,
  evaluators: JsonObject,
  refuse: (reason: string) => never,
  onBytes: (bytes: number) => void = () => undefined,
): JsonValue {
  let bytes = 0;
  const inline = (value: JsonValue, depth: number): JsonValue => {
    if (value === Infinity || value === -Infinity) return refuse("it has a number beyond 1.8e308");
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
    const what = `the evaluator ${JSON.stringify(name)} it refers to`;
    const problem = isJsonObject(evaluator) ? evaluator[unservableMark] : undefined;
    if (typeof problem === "string") return refuse(`${what} ${problem}`);
    if (isEmpty(evaluator)) return refuse(`${what} is empty`);
    bytes += bytesOf(evaluator ?? null);
    if (bytes > maxReferencedBytes)
      return refuse(`with its references replaced it is larger than ${maxReferencedBytes} bytes`);
    return evaluator;
  };

  const inlined = inline(value, 0);
  if (bytes > 0) onBytes(bytes);
  return inlined;
}

/** True for an evaluator that a reference was replaced by: other rules may contain the same object. */
export function isReferenced(rule: object): boolean {
  return evaluatorBytes.has(rule);
}

function bytesOf(evaluator: JsonValue): number {
  if (typeof evaluator !== "object" || evaluator === null) return measured(evaluator);
  let bytes = evaluatorBytes.get(evaluator);
  if (bytes === undefined) evaluatorBytes.set(evaluator, (bytes = measured(evaluator)));
  return bytes;
}

function measured(value: JsonValue): number {
  if (typeof value === "string") return value.length + 3;
  if (typeof value !== "object" || value === null) return 5;
  if (Array.isArray(value))
    return (value as readonly JsonValue[]).reduce<number>((sum, item) => sum + measured(item), 3);
  return Object.entries(value).reduce((sum, [key, member]) => sum + key.length + 3 + measured(member), 3);
}

function isEmpty(evaluator: JsonValue | undefined): boolean {
  if (typeof evaluator === "object" && evaluator !== null) return Object.keys(evaluator).length === 0;
  return evaluator === "";
}
