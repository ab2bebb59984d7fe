import {
  canonicalJson,
  isJsonObject,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";

/** A document whose evaluators don't collide with others, and those that have another name now. */
export interface RenamedEvaluators {
  readonly document: FlagDocument;
  readonly names: ReadonlyMap<string, string>;
}

/**
 * Makes a document fit to be merged with one that is preferred: of the evaluators whose names both have but whose meaning differs, its own get
 * other names, in its rules too. To write them out instead of each reference would cost as much as an author of a remote pleases: of an evaluator
 * that refers twice to one that refers twice to a third, each step doubles the size. What no flag of the document needs is left out.
 */
export function renamedEvaluators(document: FlagDocument, preferred: FlagDocument): RenamedEvaluators {
  const own = document.$evaluators ?? {};
  const others = preferred.$evaluators ?? {};
  const differing = differingNames(own, others);
  if (differing.size === 0) return { document, names: new Map() };
  const needed = neededNames(document, own);
  const taken = new Set([...Object.keys(own), ...Object.keys(others)]);
  const names = new Map<string, string>();
  for (const name of differing) if (needed.has(name)) names.set(name, freeName(name, taken));
  const rename = (value: JsonValue): JsonValue => withReferences(value, (name) => names.get(name) ?? name);
  const evaluators = Object.entries(own).flatMap(([name, evaluator]): [string, JsonValue][] => {
    if (differing.has(name) && !names.has(name)) return [];
    return [[names.get(name) ?? name, rename(evaluator)]];
  });
  const flags = Object.entries(document.flags).map(([key, flag]): [string, JsonValue] => {
    if (!isJsonObject(flag) || flag["targeting"] === undefined) return [key, flag];
    const targeting = rename(flag["targeting"]);
    return [key, targeting === flag["targeting"] ? flag : { ...flag, targeting }];
  });
  return {
    document: {
      ...document,
      flags: Object.fromEntries(flags),
      $evaluators: Object.fromEntries(evaluators),
    },
    names,
  };
}

/** Names that mean different things on both sides: by what they are, or by what they refer to. */
function differingNames(own: JsonObject, others: JsonObject): ReadonlySet<string> {
  const shared = Object.keys(own).filter((name) => Object.hasOwn(others, name));
  const differing = new Set(shared.filter((name) => !isSame(own[name], others[name])));
  const users = new Map<string, string[]>();
  for (const name of shared)
    for (const used of referencesIn(own[name] ?? null)) users.set(used, [...(users.get(used) ?? []), name]);
  // A set is walked with what is added meanwhile.
  for (const name of differing) for (const user of users.get(name) ?? []) differing.add(user);
  return differing;
}

/** The evaluators that flags refer to, themselves or by way of others, which no flag of the document need be. */
function neededNames(document: FlagDocument, own: JsonObject): ReadonlySet<string> {
  const needed = new Set<string>();
  const add = (value: JsonValue | undefined): void => {
    for (const name of referencesIn(value ?? null)) needed.add(name);
  };
  for (const flag of Object.values(document.flags)) if (isJsonObject(flag)) add(flag["targeting"]);
  for (const name of needed) if (Object.hasOwn(own, name)) add(own[name]);
  return needed;
}

function freeName(name: string, taken: Set<string>): string {
  let free = `${name}-2`;
  for (let number = 3; taken.has(free); number++) free = `${name}-${number}`;
  taken.add(free);
  return free;
}

function isSame(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return canonicalJson(a ?? null) === canonicalJson(b ?? null);
}

function referencesIn(value: JsonValue): ReadonlySet<string> {
  const found = new Set<string>();
  withReferences(value, (name) => {
    found.add(name);
    return name;
  });
  return found;
}

/** A value with other names in its references, `{"$ref": "name"}`; what has none keeps its object. Documents are bounded in depth. */
function withReferences(value: JsonValue, nameFor: (name: string) => string): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (!isJsonObject(value)) {
    const list = value;
    const items = list.map((item) => withReferences(item, nameFor));
    return items.every((item, index) => item === list[index]) ? list : items;
  }
  const { $ref } = value;
  if (typeof $ref === "string" && Object.keys(value).length === 1) {
    const name = nameFor($ref);
    return name === $ref ? value : { $ref: name };
  }
  const members = Object.entries(value).map(([key, member]): [string, JsonValue] => [
    key,
    withReferences(member, nameFor),
  ]);
  return members.every(([key, member]) => member === value[key]) ? value : Object.fromEntries(members);
}
