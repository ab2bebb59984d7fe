import { parsePath, readPath } from "../path.js";
import { fail } from "../rule-failure.js";
import type { Scope } from "../scope.js";
import { toInteger, toNumber } from "../to-number.js";
import { toText } from "../to-text.js";
import { isList, isNumber, isPrimitive, type Value } from "../value.js";
import { runAsRule } from "./data-rule.js";
import { argument, listOf, type Compile, type Operator } from "./operator.js";

const workPerPath = 8;

/** Part of the data, or a default. */
export const variable: Operator = (args, compile) => {
  if (typeof args === "string" || typeof args === "number") return parsePath(toText(args));
  if (isList(args) && typeof args[0] === "string") {
    const read = parsePath(args[0]);
    // All arguments are evaluated, so that one that fails does so even if it is not needed.
    const { evaluate } = compile(args);
    if (args.length === 1) return read;
    return (data, scope) => orDefault(read(data, scope), evaluate(data, scope));
  }
  const { evaluate } = compile(args);
  return (data, scope) => readVariable(evaluate(data, scope), data, scope);
};

/** The part of the data that the evaluated arguments of a variable name. */
export function readVariable(args: Value, data: Value, scope: Scope): Value {
  if (args === null) return isPrimitive(data) ? data : null;
  if (isNumber(args)) return readGiven(toText(args), data, scope);
  if (typeof args === "string") return readGiven(args, data, scope);
  if (!isList(args)) return data === null ? null : fail("a variable must be named by a string or a number");
  if (args.length === 0) return scope.whole(data);
  const [path] = args;
  if (typeof path !== "string") return fail("in a list, a variable must be named by a string");
  return orDefault(readGiven(path, data, scope), args);
}

/** A path that is known only at evaluation, and parsed each time. */
function readGiven(path: string, data: Value, scope: Scope): Value {
  scope.charge(workPerPath * (1 + path.length / 2));
  return readPath(path, data, scope);
}

/** The argument after the name is a default only if no other follows. */
function orDefault(value: Value, args: Value): Value {
  return value === null && isList(args) && args.length === 2 ? argument(args, 1) : value;
}

/** The given names that have no value in the data. */
export const missingOperator: Operator = (args, compile) => {
  const names = isList(args) ? args : [args];
  // Nothing is made ready of the names: a document has room for hundreds of thousands.
  if (names.every((name) => typeof name === "string"))
    return (data, scope) => absentOf(names, scope, (name) => readPath(name, data, scope));
  const { evaluate } = compile(args);
  return (data, scope) => {
    const given = evaluate(data, scope);
    return missingOf(typeof given === "string" ? [given] : listOf(given, scope), data, scope, compile);
  };
};

/** An empty list if enough of the names have a value in the data, else those that have none. */
export const missingSome: Operator = (args, compile) => {
  const { evaluate } = compile(args);
  return (data, scope) => {
    const values = listOf(evaluate(data, scope), scope);
    const needed = toInteger(toNumber(argument(values, 0), scope));
    const names = listOf(argument(values, 1), scope);
    const absent = missingOf(names, data, scope, compile);
    return needed > names.length - absent.length ? absent : [];
  };
};

function missingOf(names: readonly Value[], data: Value, scope: Scope, compile: Compile): readonly Value[] {
  return absentOf(names, scope, (name) => readVariable(runAsRule(name, data, scope, compile), data, scope));
}

function absentOf<T extends Value>(
  names: readonly T[],
  scope: Scope,
  read: (name: T) => Value,
): readonly Value[] {
  const absent = names.filter((name) => read(name) === null);
  scope.chargeMade(absent.length);
  return absent;
}
