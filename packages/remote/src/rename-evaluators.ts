import { hash } from "node:crypto";
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
 * that refers twice to one that refers twice to a third, each step doubles the size. What no flag of either document needs is left out.
 *
 * The other name is made of the evaluator itself. Two proxies may be remotes of each other: each meets again what the other one has renamed, and with
 * a number as the name they would send each other more and more evaluators without end.
 */
export function renamedEvaluators(document: FlagDocument, preferred: FlagDocument): RenamedEvaluators {
  const own = document.$evaluators ?? {};
  const others = preferred.$evaluators ?? {};
  const differing = differingNames(own, others);
  if (differing.size === 0) return { document, names: new Map() };
  const needed = neededNames(document, preferred);
  const names = otherNames(
    [...differing].filter((name) => needed.has(name)),
    own,
    others,
  );
  const evaluators = Object.entries(own).flatMap(([name, evaluator]): [string, JsonValue][] =>
    needed.has(name) ? [[names.get(name) ?? name, renamed(evaluator, names)]] : [],
  );
  const flags = Object.entries(document.flags).map(([key, flag]): [string, JsonValue] => {
    if (!isJsonObject(flag) || flag["targeting"] === undefined) return [key, flag];
    const targeting = renamed(flag["targeting"], names);
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

/** A free name for each evaluator, or one under which there is the same evaluator already. */
function otherNames(
  differing: readonly string[],
  own: JsonObject,
  others: JsonObject,
): ReadonlyMap<string, string> {
  const names = new Map(differing.map((name) => [name, `${name}-${digestOf(own[name])}`]));
  const isFreeOrSame = ([name, other]: [string, string]): boolean =>
    [own, others].every(
      (side) => !Object.hasOwn(side, other) || isSame(side[other], renamed(own[name] ?? null, names)),
    );
  if (![...names.values()].some((other) => names.has(other)) && [...names].every(isFreeOrSame)) return names;
  const taken = new Set([...Object.keys(own), ...Object.keys(others)]);
  return new Map(Array.from(names, ([name, other]) => [name, freeName(other, taken)]));
}

function digestOf(evaluator: JsonValue | undefined): string {
  return hash("sha256", canonicalJson(evaluator ?? null)).slice(0, 8);
}

function renamed(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  return withReferences(value, (name) => names.get(name) ?? name);
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

/** The evaluators that flags of either document refer to, themselves or by way of others, where the preferred one has none of that name. */
function neededNames(document: FlagDocument, preferred: FlagDocument): ReadonlySet<string> {
  const own = document.$evaluators ?? {};
  const others = preferred.$evaluators ?? {};
  const needed = new Set<string>();
  const add = (value: JsonValue | undefined, isNeeded: (name: string) => boolean = () => true): void => {
    for (const name of referencesIn(value ?? null)) if (isNeeded(name)) needed.add(name);
  };
  const isNowhereElse = (name: string): boolean => !Object.hasOwn(others, name);
  for (const flag of Object.values(document.flags)) if (isJsonObject(flag)) add(flag["targeting"]);
  for (const flag of Object.values(preferred.flags))
    if (isJsonObject(flag)) add(flag["targeting"], isNowhereElse);
  for (const evaluator of Object.values(others)) add(evaluator, isNowhereElse);
  for (const name of needed) if (Object.hasOwn(own, name)) add(own[name]);
  return needed;
}

function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}-${number}`;
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
