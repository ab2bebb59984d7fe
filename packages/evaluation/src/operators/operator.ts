import { fail } from "../rule-failure.js";
import type { Scope } from "../scope.js";
import { isList, type Value } from "../value.js";

/** A compiled rule: its result for some data. Compiled once, run often; it keeps no state between runs. */
export type Evaluate = (data: Value, scope: Scope) => Value;

export interface Expression {
  /** Of a constant it is made anew each time: an operator that has no use for it takes no memory for it. */
  readonly evaluate: Evaluate;
  /** The value, if it is the same for all data; it needs no evaluation, and never fails. */
  readonly constant: Value | undefined;
}

/** Where a variable in a rule for the items of a list is looked up before the item's own value; see item-rule.ts. */
export type Surroundings = "outer" | "item" | "outerThenItem";

/** Compiles an argument of an operator. By default its variables are read as those around it are. */
export type Compile = (rule: Value, variables?: "plain" | Surroundings) => Expression;

/**
 * Compiles each of several rules: undefined for those that are constants, whose value is the rule itself. A rule may have hundreds of
 * thousands of these, and a function for each would take several times the memory of the document.
 */
export function compileEach(rules: readonly Value[], compile: Compile): readonly (Evaluate | undefined)[] {
  return rules.map((rule) => compilePart(rule, compile));
}

/** Undefined if the rule is a constant. */
export function compilePart(rule: Value, compile: Compile): Evaluate | undefined {
  if (typeof rule !== "object" || rule === null) return undefined;
  const { evaluate, constant } = compile(rule);
  return constant === undefined ? evaluate : undefined;
}

/** Compiles one use of an operator from the value behind its name: `[1, 2]` in `{"+": [1, 2]}`. */
export type Operator = (args: Value, compile: Compile) => Evaluate;

/** Applies an operator to its evaluated arguments: a list if the rule gives one, else the single value. */
export type Apply = (args: Value, scope: Scope) => Value;

/** An operator whose arguments are all evaluated before it is applied. */
export function eager(apply: Apply): Operator {
  return (args, compile) => {
    const { evaluate } = compile(args);
    return (data, scope) => apply(evaluate(data, scope), scope);
  };
}

type ApplyTwo = (a: Value, b: Value, scope: Scope) => Value;

/** Eager, with a shortcut for the usual case of two arguments, which then need no list. */
export function binaryOperator(applyTwo: ApplyTwo, apply: Apply): Operator {
  const general = eager(apply);
  return (args, compile) => {
    if (!isList(args) || args.length !== 2) return general(args, compile);
    const { evaluate: first } = compile(args[0] ?? null);
    const second = compile(args[1] ?? null);
    return second.constant === undefined
      ? ofBoth(applyTwo, first, second.evaluate)
      : withConstant(applyTwo, first, second.constant);
  };
}

/** Two functions, because V8 keeps for a closure all that any closure of the same function uses. */
function ofBoth(applyTwo: ApplyTwo, first: Evaluate, second: Evaluate): Evaluate {
  return (data, scope) => applyTwo(first(data, scope), second(data, scope), scope);
}

function withConstant(applyTwo: ApplyTwo, first: Evaluate, second: Value): Evaluate {
  return (data, scope) => applyTwo(first(data, scope), second, scope);
}

/** Eager, with a shortcut for a single argument in a list. */
export function unaryOperator(applyOne: (value: Value, scope: Scope) => Value, apply: Apply): Operator {
  const general = eager(apply);
  return (args, compile) => {
    if (!isList(args) || args.length !== 1) return general(args, compile);
    const { evaluate } = compile(args[0] ?? null);
    return (data, scope) => applyOne(evaluate(data, scope), scope);
  };
}

/** Requires a list, and charges its items as work: they may come from the context and be many. */
export function listOf(value: Value, scope: Scope): readonly Value[] {
  if (!isList(value)) return fail("a list of arguments is needed");
  scope.charge(value.length);
  return value;
}

/** A required argument. */
export function argument(args: readonly Value[], index: number): Value {
  const value = args[index];
  return value === undefined ? fail(`argument ${index + 1} is missing`) : value;
}
