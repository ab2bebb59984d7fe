import { flagdProperty, type Scope } from "./scope.js";
import { parseFloatText } from "./parse-float.js";
import { toInteger } from "./to-number.js";
import { isList, type Value } from "./value.js";

/** Returns the part of the data that a path leads to; null if there is none. */
export type Read = (data: Value, scope: Scope) => Value;

/** The usual beginning of a bucketing key: read without looking at the clock, which the other property needs. */
const flagKeyPath = `${flagdProperty}.flagKey`;

/** A longer path is read from its text: made ready, each step takes tens of bytes of the heap, and a document has room for a million of them. */
const maxReadyLength = 64;

/** Names that every object has a property of, from its prototype. */
const inheritedNames = new Set(Object.getOwnPropertyNames(Object.prototype));

/** Parses a path such as `user.tags.0`. Empty steps are ignored. */
export function parsePath(path: string): Read {
  if (path.length > maxReadyLength) return readLong(path);
  const [first, ...others] = path
    .split(".")
    .filter((name) => name !== "")
    .map(interned);
  if (first === undefined) return readWhole;
  if (path === flagKeyPath) return readFlagKey;
  if (others.length > 0) return readSteps(first, others);
  return first === flagdProperty ? readFlagd : readMember(first);
}

export function readPath(path: string, data: Value, scope: Scope): Value {
  let value = data;
  let hasSteps = false;
  for (let start = 0, end = 0; end < path.length && value !== null; start = end + 1) {
    end = path.indexOf(".", start);
    if (end < 0) end = path.length;
    if (end === start) continue;
    const name = path.slice(start, end);
    value = hasSteps ? take(value, name) : takeFirst(value, name, scope);
    hasSteps = true;
  }
  return hasSteps ? value : readWhole(data, scope);
}

function readLong(path: string): Read {
  return (data, scope) => {
    scope.chargeReading(path);
    return readPath(path, data, scope);
  };
}

const readWhole: Read = (data, scope) => scope.whole(data);

const readFlagd: Read = (data, scope) => takeFirst(data, flagdProperty, scope);

const readFlagKey: Read = (data, scope) =>
  scope.isContext(data) ? scope.contextFlagKey : take(take(data, flagdProperty), "flagKey");

function readMember(name: string): Read {
  if (inheritedNames.has(name)) return (data) => take(data, name);
  return (data) => {
    if (typeof data !== "object" || data === null) return null;
    return isList(data) ? take(data, name) : (data[name] ?? null);
  };
}

/**
 * A function of its own, so that V8 keeps nothing for it but the names, and whether one of them is inherited. The usual step, into an object, is written out
 * here and in `readMember`: by way of one function for both, a rule of two steps took 10 ns more of 52.
 */
function readSteps(first: string, others: readonly string[]): Read {
  const hasInherited = others.some((name) => inheritedNames.has(name));
  return (data, scope) => {
    let value = takeFirst(data, first, scope);
    for (const name of others) {
      if (typeof value !== "object" || value === null) return null;
      value = hasInherited || isList(value) ? take(value, name) : (value[name] ?? null);
    }
    return value;
  };
}

function takeFirst(data: Value, name: string, scope: Scope): Value {
  return name === flagdProperty && scope.isContext(data) ? scope.flagd() : take(data, name);
}

/** A member of an object, or an item of a list. */
function take(value: Value, name: string): Value {
  if (typeof value !== "object" || value === null) return null;
  if (isList(value)) return value[toInteger(parseFloatText(name) ?? 0)] ?? null;
  return inheritedNames.has(name) && !Object.hasOwn(value, name) ? null : (value[name] ?? null);
}

/** The name as V8 interns property names: reading a property by it is faster. */
function interned(name: string): string {
  return Object.keys({ [name]: true })[0] ?? name;
}
