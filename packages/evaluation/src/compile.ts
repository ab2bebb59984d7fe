import type { Compile, Evaluate, Expression, Operator, Surroundings } from "./operators/operator.js";
import { operators } from "./operators/registry.js";
import { shadowedVariable } from "./operators/shadowed-variable.js";
import { fail } from "./rule-failure.js";
import { isList, isMap, type Value } from "./value.js";

/**
 * How deep a rule may be nested. A rule is compiled, and run, by functions that call each other; this is a fifth of what exhausts the
 * stack.
 */
const maxNesting = 1000;

type Variables = "plain" | Surroundings;

const shadowed: Readonly<Record<Surroundings, Operator>> = {
  outer: shadowedVariable("outer"),
  item: shadowedVariable("item"),
  outerThenItem: shadowedVariable("outerThenItem"),
};

/**
 * Makes a function of a rule, once, so that each evaluation only calls it. An object with one key is an operator and its arguments, any
 * other object is data, and so is what is no object; the items of a list are rules. An operator that nobody knows fails only when
 * it is reached.
 *
 * @throws RuleFailure if the rule is nested too deep
 */
export function compile(rule: Value): Evaluate {
  return compileAt(rule, "plain", 0).evaluate;
}

function compileAt(rule: Value, variables: Variables, depth: number): Expression {
  if (typeof rule !== "object" || rule === null) return constant(rule);
  if (depth > maxNesting) return fail(`the rule is nested more than ${maxNesting} levels deep`);
  const compileInner: Compile = (inner, innerVariables = variables) =>
    compileAt(inner, innerVariables, depth + 1);
  return isMap(rule) ? compileMap(rule, variables, compileInner) : compileList(rule, compileInner);
}

function compileMap(rule: Value, variables: Variables, compileInner: Compile): Expression {
  const members = Object.entries(rule as object) as [string, Value][];
  const [member] = members;
  if (member === undefined || members.length > 1) return constant(rule);
  const [name, args] = member;
  const operator = name === "var" && variables !== "plain" ? shadowed[variables] : operators.get(name);
  return { constant: undefined, evaluate: operator?.(args, compileInner) ?? unknown(name) };
}

function compileList(items: Value, compileInner: Compile): Expression {
  if (!isList(items)) return constant(items);
  const expressions = items.map((item) => compileInner(item));
  if (expressions.every((expression) => expression.constant !== undefined)) return constant(items);
  const evaluators = expressions.map(({ evaluate }) => evaluate);
  return {
    constant: undefined,
    evaluate: (data, scope) => evaluators.map((evaluate) => evaluate(data, scope)),
  };
}

function constant(value: Value): Expression {
  return { constant: value, evaluate: () => value };
}

function unknown(name: string): Evaluate {
  return () => fail(`there is no operator ${JSON.stringify(name)}`);
}
