import {
  atOnce,
  isJsonObject,
  isStep,
  maxDocumentDepth,
  quoted,
  unservable,
  type DocumentWork,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";

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
const tooLarge = `with its references replaced it is larger than ${maxReferencedBytes} bytes`;

/** Of evaluators that refer to each other in a circle, as many are named. */
const maxNamed = 5;

/** What an evaluator amounts to with its references replaced. */
interface Size {
  /** About how many bytes of JSON. */
  readonly bytes: number;
  readonly depth: number;
}

const sizes = new WeakMap<object, Size>();

/** What `servableEvaluators` has returned, and need not walk again. */
const servable = new WeakSet<JsonObject>();

/** The evaluators of a document, safe to walk, however deep they were. */
export function servableEvaluators(object: JsonObject): JsonObject {
  return atOnce(findingServable(object));
}

function* findingServable(object: JsonObject): DocumentWork<JsonObject> {
  if (servable.has(object)) return object;
  const problems = new Map<string, JsonValue>();
  for (const [index, name] of Object.keys(object).entries()) {
    if (isStep(index)) yield;
    const problem = unservable(object[name] ?? null);
    if (problem !== undefined) problems.set(name, { [unservableMark]: problem });
  }
  const result = problems.size === 0 ? object : { ...object, ...Object.fromEntries(problems) };
  servable.add(result);
  return result;
}

/**
 * The evaluators of a document in the form that `inlineReferences` takes: safe to walk, and with the references among them replaced. An
 * evaluator that occurs in several is one object in all of them.
 */
export function evaluatorsOf(object: JsonObject): JsonObject {
  return atOnce(resolvingEvaluators(object));
}

/** The same in steps: there may be a hundred thousand. */
export function* resolvingEvaluators(object: JsonObject): DocumentWork<JsonObject> {
  return yield* new EvaluatorSet(yield* findingServable(object)).resolve();
}

class EvaluatorSet {
  readonly #object: JsonObject;
  readonly #done = new Map<string, JsonValue>();
  /** Of each evaluator that waits, the references in it that are not resolved. */
  readonly #waiting = new Map<string, Set<string>>();
  readonly #referring = new Map<string, string[]>();
  /**
   * Why evaluators can't be served, each in the words of the first one of its chain. Each said by way of all that are between, the texts of some thousand
   * evaluators would be gigabytes.
   */
  readonly #causes = new Map<string, string>();

  constructor(object: JsonObject) {
    this.#object = object;
  }

  *resolve(): DocumentWork<JsonObject> {
    const names = Object.keys(this.#object);
    for (const [index, name] of names.entries()) {
      if (isStep(index)) yield;
      const references = this.#referencesOf(this.#object[name] ?? null);
      if (references.size > 0) this.#waiting.set(name, references);
      for (const reference of references) {
        const referring = this.#referring.get(reference);
        if (referring === undefined) this.#referring.set(reference, [name]);
        else referring.push(name);
      }
    }
    if (this.#waiting.size === 0) return this.#object;
    const ready = names.filter((name) => !this.#waiting.has(name));
    for (const name of ready) this.#done.set(name, this.#object[name] ?? null);
    // The innermost first: a chain of evaluators may be as long as the document, and the stack is not.
    let taken = 0;
    for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
      if (isStep(++taken)) yield;
      for (const referring of this.#referring.get(name) ?? []) {
        const waiting = this.#waiting.get(referring);
        waiting?.delete(name);
        if (waiting?.size !== 0) continue;
        this.#waiting.delete(referring);
        this.#inline(referring);
        ready.push(referring);
      }
    }
    for (const name of this.#waiting.keys()) this.#refuse(name, `never ends: ${this.#circleFrom(name)}`);
    return Object.fromEntries(names.map((name) => [name, this.#done.get(name) ?? null]));
  }

  #referencesOf(evaluator: JsonValue): Set<string> {
    const references = new Set<string>();
    const visit = (value: JsonValue): void => {
      if (typeof value !== "object" || value === null) return;
      const name = isJsonObject(value) ? referenceIn(value) : undefined;
      if (name === undefined)
        for (const member of Object.values(value) as readonly JsonValue[]) visit(member);
      else if (Object.hasOwn(this.#object, name)) references.add(name);
    };
    visit(evaluator);
    return references;
  }

  #inline(name: string): void {
    const raw = this.#object[name] ?? null;
    try {
      const inliner = new Inliner((inner) => {
        const cause = this.#causes.get(inner);
        return cause === undefined ? this.#done.get(inner) : failed(cause);
      }, failed);
      const evaluator = inliner.inline(raw, 0);
      const { bytes, deepest } = inliner;
      if (deepest > maxDocumentDepth)
        this.#refuse(
          name,
          `is nested more than ${maxDocumentDepth} levels deep with its references replaced`,
        );
      else {
        this.#done.set(name, evaluator);
        // What is a reference as a whole is the evaluator it refers to.
        if (typeof evaluator === "object" && evaluator !== null && !sizes.has(evaluator))
          sizes.set(evaluator, { bytes: measured(raw).bytes + bytes, depth: deepest });
      }
    } catch (error) {
      if (!(error instanceof ReferenceFailure)) throw error;
      this.#refuse(name, `can't be served: ${error.message}`, error.message);
    }
  }

  #refuse(name: string, problem: string, cause = said(name, problem)): void {
    this.#done.set(name, { [unservableMark]: problem });
    this.#causes.set(name, cause);
  }

  /** `"a" → "b" → "a"`: where the references of an evaluator that never ends lead. */
  #circleFrom(start: string): string {
    const path: string[] = [];
    let name: string | undefined = start;
    for (
      ;
      name !== undefined && !path.includes(name) && path.length < maxNamed;
      [name] = this.#waiting.get(name) ?? []
    )
      path.push(name);
    const last = name !== undefined && path.includes(name) ? quoted(name) : "…";
    return [...path.map((each) => quoted(each)), last].join(" → ");
  }
}

class ReferenceFailure extends Error {}

function said(name: string, problem: string): string {
  return `the evaluator ${quoted(name)} it refers to ${problem}`;
}

function failed(reason: string): never {
  throw new ReferenceFailure(reason);
}

/**
 * Replaces references, `{"$ref": "name"}`, by the shared evaluators they name. Values without references keep their object. A reference
 * without an evaluator stays, and so becomes an unknown operator.
 *
 * @param evaluators by `evaluatorsOf`
 * @param refuse called with the reason if references can't be replaced: an evaluator is empty, which flagd refuses, nested too deep, or refers
 * to itself, or they are too many; or if a number is too large for JSON
 * @param onBytes called with about how many bytes of JSON the value grew by, if it has references
 */
export function inlineReferences(
  value: JsonValue,
  evaluators: JsonObject,
  refuse: (reason: string) => never,
  onBytes: (bytes: number) => void = () => undefined,
): JsonValue {
  const inliner = new Inliner(
    (name) => (Object.hasOwn(evaluators, name) ? evaluators[name] : undefined),
    refuse,
  );
  const inlined = inliner.inline(value, 0);
  if (inliner.bytes > 0) onBytes(inliner.bytes);
  return inlined;
}

class Inliner {
  readonly #evaluator: (name: string) => JsonValue | undefined;
  readonly #refuse: (reason: string) => never;
  /** Of all evaluators that references were replaced by. */
  bytes = 0;
  /** How deep the value is nested, its evaluators included. */
  deepest = 0;

  constructor(evaluator: (name: string) => JsonValue | undefined, refuse: (reason: string) => never) {
    this.#evaluator = evaluator;
    this.#refuse = refuse;
  }

  inline(value: JsonValue, depth: number): JsonValue {
    if (value === Infinity || value === -Infinity) return this.#refuse("it has a number beyond 1.8e308");
    if (typeof value !== "object" || value === null || depth > maxDepth) return value;
    this.deepest = Math.max(this.deepest, depth + 1);
    return isJsonObject(value) ? this.#inObject(value, depth) : this.#inList(value, depth);
  }

  #inObject(object: JsonObject, depth: number): JsonValue {
    const name = referenceIn(object);
    if (name !== undefined) return this.#referenced(name, depth) ?? object;
    let members: [string, JsonValue][] | undefined;
    for (const key of Object.keys(object)) {
      const member = object[key] ?? null;
      const inlined = this.inline(member, depth + 1);
      if (inlined !== member) (members ??= []).push([key, inlined]);
    }
    // Spread and fromEntries define members rather than assign them: a key called "__proto__" stays a key.
    return members === undefined ? object : { ...object, ...Object.fromEntries(members) };
  }

  #inList(list: readonly JsonValue[], depth: number): JsonValue {
    let result: JsonValue[] | undefined;
    for (const [i, item] of list.entries()) {
      const inlined = this.inline(item, depth + 1);
      if (inlined !== item) (result ??= [...list])[i] = inlined;
    }
    return result ?? list;
  }

  #referenced(name: string, depth: number): JsonValue | undefined {
    const evaluator = this.#evaluator(name);
    if (evaluator === undefined) return undefined;
    const problem = isJsonObject(evaluator) ? evaluator[unservableMark] : undefined;
    if (typeof problem === "string") return this.#refuse(said(name, problem));
    if (isEmpty(evaluator)) return this.#refuse(said(name, "is empty"));
    const size = sizeOf(evaluator);
    this.bytes += size.bytes;
    this.deepest = Math.max(this.deepest, depth + size.depth);
    return this.bytes > maxReferencedBytes ? this.#refuse(tooLarge) : evaluator;
  }
}

/** The name of the evaluator that an object is a reference to; undefined if it is none, or one that flagd never finds. */
function referenceIn(object: JsonObject): string | undefined {
  const { $ref } = object;
  const isReference = typeof $ref === "string" && Object.keys(object).length === 1;
  return isReference && !unfindableName.test($ref) ? $ref : undefined;
}

/** True for an evaluator that a reference was replaced by: other rules may contain the same object. */
export function isReferenced(rule: object): boolean {
  return sizes.has(rule);
}

function sizeOf(evaluator: JsonValue): Size {
  if (typeof evaluator !== "object" || evaluator === null) return measured(evaluator);
  let size = sizes.get(evaluator);
  if (size === undefined) sizes.set(evaluator, (size = measured(evaluator)));
  return size;
}

function measured(value: JsonValue): Size {
  if (typeof value === "string") return { bytes: value.length + 3, depth: 0 };
  if (typeof value !== "object" || value === null) return { bytes: 5, depth: 0 };
  let bytes = 3;
  let depth = 0;
  const add = (member: JsonValue, nameBytes: number): void => {
    const size = measured(member);
    bytes += size.bytes + nameBytes;
    depth = Math.max(depth, size.depth);
  };
  // Not Object.entries, which takes a hundred bytes for each item of a list: with half a million it would fill the heap.
  if (isJsonObject(value)) for (const key of Object.keys(value)) add(value[key] ?? null, key.length + 3);
  else for (const item of value) add(item, 0);
  return { bytes, depth: depth + 1 };
}

function isEmpty(evaluator: JsonValue): boolean {
  if (isJsonObject(evaluator)) return Object.keys(evaluator).length === 0;
  return evaluator === "" || (Array.isArray(evaluator) && evaluator.length === 0);
}
