import { fail } from "../rule-failure.js";
import type { Scope } from "../scope.js";
import { toNumber } from "../to-number.js";
import { toText } from "../to-text.js";
import { isTruthy } from "../truthiness.js";
import { isList, isMap, isNumber, type Value } from "../value.js";
import { ItemRule } from "./item-rule.js";
import { argument, listOf, type Compile, type Evaluate, type Operator } from "./operator.js";

/** The items for which a rule is true. */
export const filter: Operator = (args, compile) => {
  if (!isList(args)) return needsList;
  if (args.length < 2) return () => [];
  const subject = compileSubject(argument(args, 0), compile);
  const rule = new ItemRule(argument(args, 1), "outer", false, compile);
  return (data, scope) => {
    const value = subject(data, scope);
    if (value === null) return [];
    return rule.run(data, scope, (evaluate) => {
      const kept = listOf(value, scope).filter((item) => isTruthy(evaluate(item, scope)));
      scope.chargeMade(kept.length);
      return kept;
    });
  };
};

/** The result of a rule for each item. The rule sees only the item, nothing around the list. */
export const map: Operator = (args, compile) => {
  if (!isList(args)) return needsList;
  if (args.length < 2) return () => [];
  const subject = compileSubject(argument(args, 0), compile);
  const { evaluate } = compile(argument(args, 1), "plain");
  return (data, scope) => {
    const value = subject(data, scope);
    if (value === null) return [];
    const items = listOf(value, scope);
    scope.chargeMade(items.length);
    return items.map((item) => evaluate(item, scope));
  };
};

/** Whether a rule is true for all items; false for an empty list. */
export const all: Operator = quantifier("item", false, (items, isTrue) => items.every(isTrue));

/** Whether a rule is true for no item. */
export const none: Operator = quantifier("outer", true, (items, isTrue) => !items.some(isTrue));

/** Whether a rule is true for an item. */
export const some: Operator = quantifier("outerThenItem", false, (items, isTrue) => items.some(isTrue));

function quantifier(
  surroundings: "outer" | "item" | "outerThenItem",
  ofNothing: boolean,
  test: (items: readonly Value[], isTrue: (item: Value) => boolean) => boolean,
): Operator {
  return (args, compile) => {
    if (!isList(args)) return needsList;
    const [first] = args;
    if (first === undefined) return needsList;
    const subject = compileSubject(first, compile);
    const rule = args[1] === undefined ? undefined : new ItemRule(args[1], surroundings, true, compile);
    return (data, scope) => {
      const value = subject(data, scope);
      if (!isTruthy(value)) return ofNothing;
      if (rule === undefined) return fail("a rule for the items of the list is missing");
      return rule.run(data, scope, (evaluate) =>
        test(listOf(value, scope), (item) => isTruthy(evaluate(item, scope))),
      );
    };
  };
}

/**
 * Reduces a list to one value, item by item. The rule sees the item as `current` and the result so far as `accumulator`, which keeps the
 * type it began with: boolean, number or string. Items that are null are skipped.
 */
export const reduce: Operator = (args, compile) => {
  if (!isList(args)) return needsList;
  if (args.length < 3) return () => 0;
  const subject = compileSubject(argument(args, 0), compile);
  const rule = argument(args, 1);
  const evaluate = isMap(rule) ? compile(rule, "plain").evaluate : needsRule;
  const start = argument(args, 2);
  const initial = isMap(start) ? compile(start).evaluate : () => start;
  return (data, scope) => {
    const accumulator = initial(data, scope);
    const accumulate = accumulation(accumulator);
    const value = subject(data, scope);
    if (value === null) return 0;
    const state = {
      current: 0 as Value,
      accumulator: accumulate.to(accumulator, scope),
      valueType: accumulate.type,
    };
    for (const item of listOf(value, scope)) {
      if (item === null) continue;
      state.current = item;
      state.accumulator = accumulate.to(evaluate(state, scope), scope);
    }
    return state.accumulator;
  };
};

interface Accumulation {
  readonly type: string;
  readonly to: (value: Value, scope: Scope) => Value;
}

const booleans: Accumulation = { type: "bool", to: isTruthy };
const numbers: Accumulation = { type: "number", to: toNumber };
const strings: Accumulation = {
  type: "string",
  to: (value, scope) => {
    const text = toText(value);
    scope.chargeText(text);
    return text;
  },
};

function accumulation(initial: Value): Accumulation {
  if (typeof initial === "boolean") return booleans;
  if (typeof initial === "string") return strings;
  return isNumber(initial) ? numbers : fail("reduce must begin with a boolean, a number or a string");
}

/** The list to work on: a list written in the rule, or the result of an operator. Anything else counts as null. */
function compileSubject(subject: Value, compile: Compile): Evaluate {
  if (isMap(subject)) return compile(subject).evaluate;
  return isList(subject) ? () => subject : () => null;
}

const needsList: Evaluate = () =>
  fail("list operators need their arguments in a list written out in the rule");

const needsRule: Evaluate = () => fail("the rule of reduce must be an object");
