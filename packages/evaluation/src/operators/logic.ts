import { fail } from "../rule-failure.js";
import { isTruthy } from "../truthiness.js";
import { isList, isMap, type Value } from "../value.js";
import { runAsRule } from "./data-rule.js";
import { unary, type Compile, type Evaluate, type Operator } from "./operator.js";

/** The first false value, else the last. */
export const and: Operator = firstWhere(false);

/** The first true value, else the last. */
export const or: Operator = firstWhere(true);

function firstWhere(wanted: boolean): Operator {
  return (args, compile) => {
    if (!isList(args)) return needsList;
    const values = args.map((arg) => compile(arg).evaluate);
    return (data, scope) => {
      let last: Value = null;
      for (const evaluate of values) {
        last = evaluate(data, scope);
        if (isTruthy(last) === wanted) break;
      }
      return last;
    };
  };
}

export const not: Operator = unary(
  (value) => !isTruthy(value),
  (args) => !isTruthy(firstOf(args)),
);

export const truth: Operator = unary(isTruthy, (args) => isTruthy(firstOf(args)));

/** The first of several arguments; an empty list counts as itself. */
function firstOf(args: Value): Value {
  return isList(args) && args.length > 0 ? (args[0] ?? null) : args;
}

/** Condition, result, condition, result, …, and the result otherwise. Only what is reached is evaluated. */
export const conditional: Operator = (args, compile) => {
  if (!isList(args)) return needsList;
  const conditions: Evaluate[] = [];
  const results: Evaluate[] = [];
  for (let i = 0; i + 1 < args.length; i += 2) {
    conditions.push(compile(args[i] ?? null).evaluate);
    results.push(compileResult(args[i + 1] ?? null, compile));
  }
  const otherwise = args.length % 2 === 1 ? compileResult(args.at(-1) ?? null, compile) : nothing;
  return (data, scope) => {
    for (let i = 0; i < conditions.length; i++) {
      const condition = conditions[i];
      if (condition !== undefined && isTruthy(condition(data, scope)))
        return (results[i] ?? nothing)(data, scope);
    }
    return otherwise(data, scope);
  };
};

/** A result that is an object is run as a rule again, even if it came from the context. */
function compileResult(rule: Value, compile: Compile): Evaluate {
  const { evaluate, constant } = compile(rule);
  if (constant !== undefined) return evaluate;
  return (data, scope) => {
    const result = evaluate(data, scope);
    return isMap(result) ? runAsRule(result, data, scope, compile) : result;
  };
}

const nothing: Evaluate = () => null;

const needsList: Evaluate = () => fail("and, or and if need a list written out in the rule");
