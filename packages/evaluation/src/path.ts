import { flagdProperty, type Scope } from "./scope.js";
import { parseFloatText } from "./parse-float.js";
import { toInteger } from "./to-number.js";
import { isList, type Value } from "./value.js";

/** One step from a value to a part of it: a member of an object, or an item of a list. */
interface Step {
  readonly name: string;
  readonly index: number;
  /** Every object has a property of this name from its prototype. */
  readonly isInherited: boolean;
}

/** Returns the part of the data that a path leads to; null if there is none. */
export type Read = (data: Value, scope: Scope) => Value;

/** The usual beginning of a bucketing key: read without looking at the clock, which the other property needs. */
const flagKeyPath = `${flagdProperty}.flagKey`;

/** Parses a path such as `user.tags.0`. Empty steps are ignored. */
export function parsePath(path: string): Read {
  const [first, ...others] = path
    .split(".")
    .filter((name) => name !== "")
    .map(stepOf);
  if (first === undefined) return (data, scope) => scope.whole(data);
  const readFirst = first.name === flagdProperty ? readFlagd(first) : readMember(first);
  if (others.length === 0) return readFirst;
  const read: Read = (data, scope) => {
    let value = readFirst(data, scope);
    for (const step of others) {
      if (value === null) return null;
      value = take(value, step);
    }
    return value;
  };
  if (path !== flagKeyPath) return read;
  return (data, scope) => (scope.isContext(data) ? scope.contextFlagKey : read(data, scope));
}

function readFlagd(step: Step): Read {
  return (data, scope) => (scope.isContext(data) ? scope.flagd() : take(data, step));
}

function readMember(step: Step): Read {
  const { name } = step;
  if (step.isInherited) return (data) => take(data, step);
  return (data) => {
    if (typeof data !== "object" || data === null) return null;
    return isList(data) ? take(data, step) : (data[name] ?? null);
  };
}

function take(value: Value, { name, index, isInherited }: Step): Value {
  if (typeof value !== "object" || value === null) return null;
  if (isList(value)) return value[index] ?? null;
  return isInherited && !Object.hasOwn(value, name) ? null : (value[name] ?? null);
}

function stepOf(name: string): Step {
  return {
    name: interned(name),
    index: toInteger(parseFloatText(name) ?? 0),
    isInherited: name in Object.prototype,
  };
}

/** The name as V8 interns property names: reading a property by it is faster. */
function interned(name: string): string {
  return Object.keys({ [name]: true })[0] ?? name;
}
