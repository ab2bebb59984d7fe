import { fail } from "../rule-failure.js";
import type { Scope } from "../scope.js";
import { isTruthy } from "../truthiness.js";
import { isList, isMap, type Value } from "../value.js";
import { runAsRule } from "./data-rule.js";
import {
  compileEach,
  compilePart,
  unaryOperator,
  type Compile,
  type Evaluate,
  type Operator,
} from "./operator.js";

/** The first false value, else the last. */
export const and: Operator = firstWhere(false);

/** The first true value, else the last. */
export const or: Operator = firstWhere(true);

function firstWhere(wanted: boolean): Operator {
  return (args, compile) => {
    if (!isList(args)) return needsList;
    const parts = compileEach(args, compile);
    return (data, scope) => {
      let last: Value = null;
      for (let i = 0; i < parts.length; i++) {
        const part = parts[i];
        last = part === undefined ? (args[i] ?? null) : part(data, scope);
        if (isTruthy(last) === wanted) break;
      }
      return last;
    };
  };
}

export const not: Operator = unaryOperator(
  (value) => !isTruthy(value),
  (args) => !isTruthy(firstOf(args)),
);

export const truth: Operator = unaryOperator(isTruthy, (args) => isTruthy(firstOf(args)));

/** The first of several arguments; an empty list counts as itself. */
function firstOf(args: Value): Value {
  return isList(args) && args.length > 0 ? (args[0] ?? null) : args;
}

/** Condition, result, condition, result, …, and the result otherwise. Only what is reached is evaluated. */
export const conditional: Operator = (args, compile) => {
  if (!isList(args)) return needsList;
  const last = args.length - 1;
  const parts = args.map((arg, index) =>
    index % 2 === 1 || index === last ? compileResult(arg, compile) : compilePart(arg, compile),
  );
  const evaluate = (index: number, data: Value, scope: Scope): Value => {
    const part = parts[index];
    return part === undefined ? (args[index] ?? null) : part(data, scope);
  };
  return (data, scope) => {
    let index = 0;
    for (; index < last; index += 2) {
      if (isTruthy(evaluate(index, data, scope))) return evaluate(index + 1, data, scope);
    }
    return index === last ? evaluate(index, data, scope) : null;
  };
};

/** A result that is an object is run as a rule again, even if it came from the context. Undefined if the rule is a constant. */
function compileResult(rule: Value, compile: Compile): Evaluate | undefined {
  const evaluate = compilePart(rule, compile);
  if (evaluate === undefined) return undefined;
  return (data, scope) => {
    const result = evaluate(data, scope);
    return isMap(result) ? runAsRule(result, data, scope, compile) : result;
  };
}

const needsList: Evaluate = () => fail("and, or and if need a list written out in the rule");
