import { fail } from "../rule-failure.js";
import type { Scope } from "../scope.js";
import { isList, type Value } from "../value.js";

/** A compiled rule: what it gives for some data. Made once, run often; it keeps nothing from one run to the next. */
export type Evaluate = (data: Value, scope: Scope) => Value;

export interface Expression {
  readonly evaluate: Evaluate;
  /** The value, where it is the same for all data; it needs no evaluation, and never fails. */
  readonly constant: Value | undefined;
}

/** Whose values the variables of a rule for the items of a list take before the item's own; see item-rule.ts. */
export type Surroundings = "outer" | "item" | "outerThenItem";

/** Compiles what stands inside of an operator. Variables are read as they are around it, if nothing else is said. */
export type Compile = (rule: Value, variables?: "plain" | Surroundings) => Expression;

/** Makes one use of an operator out of what stands behind its name: `[1, 2]` in `{"+": [1, 2]}`. */
export type Operator = (args: Value, compile: Compile) => Evaluate;

/** From the arguments, evaluated: a list where the rule gives one, else the single value. */
export type Apply = (args: Value, scope: Scope) => Value;

/** An operator whose arguments are all evaluated before it looks at any. */
export function eager(apply: Apply): Operator {
  return (args, compile) => {
    const { evaluate } = compile(args);
    return (data, scope) => apply(evaluate(data, scope), scope);
  };
}

/** Eager, with a shortcut for the usual case of two arguments, which then need no list. */
export function binary(applyTwo: (a: Value, b: Value, scope: Scope) => Value, apply: Apply): Operator {
  const general = eager(apply);
  return (args, compile) => {
    if (!isList(args) || args.length !== 2) return general(args, compile);
    const { evaluate: first } = compile(args[0] ?? null);
    const { evaluate: second, constant } = compile(args[1] ?? null);
    if (constant !== undefined) return (data, scope) => applyTwo(first(data, scope), constant, scope);
    return (data, scope) => applyTwo(first(data, scope), second(data, scope), scope);
  };
}

/** Eager, with a shortcut for a single argument in a list. */
export function unary(applyOne: (value: Value, scope: Scope) => Value, apply: Apply): Operator {
  const general = eager(apply);
  return (args, compile) => {
    if (!isList(args) || args.length !== 1) return general(args, compile);
    const { evaluate } = compile(args[0] ?? null);
    return (data, scope) => applyOne(evaluate(data, scope), scope);
  };
}

/** Counts the items as work, for they may come from the context and be many. */
export function listOf(value: Value, scope: Scope): readonly Value[] {
  if (!isList(value)) return fail("a list of arguments is needed");
  scope.charge(value.length);
  return value;
}

/** An argument that must be there. */
export function argument(args: readonly Value[], index: number): Value {
  const value = args[index];
  return value === undefined ? fail(`argument ${index + 1} is missing`) : value;
}
