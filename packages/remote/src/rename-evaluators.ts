import { hash } from "node:crypto";
import {
  canonicalJson,
  isStep,
  withReferences,
  type DocumentWork,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";

/** Flags with the evaluators that they need. */
export interface FlagsOfSide {
  readonly flags: readonly (readonly [key: string, flag: JsonValue])[];
  readonly $evaluators?: JsonObject;
}

/** Those whose evaluators don't collide with others, and the evaluators that have another name now. */
export interface RenamedEvaluators {
  readonly flags: readonly [key: string, flag: JsonValue][];
  readonly $evaluators: JsonObject;
  readonly names: ReadonlyMap<string, string>;
}

/**
 * Makes flags fit to be merged with a document that is preferred: of the evaluators whose names both have but whose meaning differs, their own get
 * other names, wherever the flags refer to them, as agents replace references in all of a flag. To write them out instead of each reference would cost as much as an author of a remote pleases: of an evaluator
 * that refers twice to one that refers twice to a third, each step doubles the size. What no flag of either side needs is left out.
 *
 * The other name is made of the evaluator itself. Two proxies may be remotes of each other: each meets again what the other one has renamed, and with
 * a number as the name they would send each other more and more evaluators without end.
 */
export function* renaming(side: FlagsOfSide, preferred: FlagDocument): DocumentWork<RenamedEvaluators> {
  const own = side.$evaluators ?? {};
  const others = preferred.$evaluators ?? {};
  const differing = yield* differingNames(own, others);
  if (differing.size === 0)
    return { flags: side.flags.map(([key, flag]) => [key, flag]), $evaluators: own, names: new Map() };
  const needed = yield* neededNames(side, preferred);
  const names = otherNames(
    [...differing].filter((name) => needed.has(name)),
    own,
    others,
  );
  const evaluators: [string, JsonValue][] = [];
  for (const [index, name] of Object.keys(own).entries()) {
    if (needed.has(name)) evaluators.push([names.get(name) ?? name, renamed(own[name] ?? null, names)]);
    if (isStep(index)) yield;
  }
  const flags: [string, JsonValue][] = [];
  for (const [key, flag] of side.flags) {
    if (isStep(flags.push([key, renamed(flag, names)]))) yield;
  }
  return { flags, $evaluators: Object.fromEntries(evaluators), names };
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
function* differingNames(own: JsonObject, others: JsonObject): DocumentWork<ReadonlySet<string>> {
  const differing = new Set<string>();
  const users = new Map<string, string[]>();
  let done = 0;
  for (const name of Object.keys(own)) {
    if (isStep(++done)) yield;
    if (!Object.hasOwn(others, name)) continue;
    if (!isSame(own[name], others[name])) differing.add(name);
    for (const used of referencesIn(own[name] ?? null)) {
      const before = users.get(used);
      if (before === undefined) users.set(used, [name]);
      else before.push(name);
    }
  }
  // A set is walked with what is added meanwhile.
  for (const name of differing) for (const user of users.get(name) ?? []) differing.add(user);
  return differing;
}

/** The evaluators that flags of either side refer to, themselves or by way of others, where the preferred one has none of that name. */
function* neededNames(side: FlagsOfSide, preferred: FlagDocument): DocumentWork<ReadonlySet<string>> {
  const own = side.$evaluators ?? {};
  const others = preferred.$evaluators ?? {};
  const needed = new Set<string>();
  const isNowhereElse = (name: string): boolean => !Object.hasOwn(others, name);
  let done = 0;
  for (const [, flag] of side.flags) {
    if (isStep(++done)) yield;
    for (const name of referencesIn(flag)) needed.add(name);
  }
  for (const value of [...Object.values(preferred.flags), ...Object.values(others)]) {
    if (isStep(++done)) yield;
    for (const name of referencesIn(value)) if (isNowhereElse(name)) needed.add(name);
  }
  for (const name of needed) {
    if (isStep(++done)) yield;
    if (Object.hasOwn(own, name)) for (const used of referencesIn(own[name] ?? null)) needed.add(used);
  }
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
