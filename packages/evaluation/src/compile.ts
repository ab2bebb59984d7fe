import type { Compile, Evaluate, Expression, Operator, Surroundings } from "./operators/operator.js";
import { operators } from "./operators/registry.js";
import { shadowedVariable } from "./operators/shadowed-variable.js";
import { fail } from "./rule-failure.js";
import { isList, isMap, type Value } from "./value.js";

/** How deep a rule may be nested. Rules are compiled and run by recursive functions; this is a fifth of what exhausts the stack. */
const maxNesting = 1000;

type Variables = "plain" | Surroundings;

const shadowed: Readonly<Record<Surroundings, Operator>> = {
  outer: shadowedVariable("outer"),
  item: shadowedVariable("item"),
  outerThenItem: shadowedVariable("outerThenItem"),
};

/** Called with the name of each operator of a rule that does not exist. */
type OnUnknown = (name: string) => void;

/**
 * Turns a rule into a function, once, so that each evaluation only calls it. An object with one key is an operator and its arguments; any
 * other object is data, and so are numbers, texts, booleans and null. The items of a list are rules. An unknown operator fails only when
 * an evaluation reaches it.
 *
 * @throws RuleFailure if the rule is nested too deep
 */
export function compile(rule: Value, onUnknown: OnUnknown = () => undefined): Evaluate {
  return compileAt(rule, "plain", 0, onUnknown).evaluate;
}

function compileAt(rule: Value, variables: Variables, depth: number, onUnknown: OnUnknown): Expression {
  if (typeof rule !== "object" || rule === null) return constant(rule);
  if (depth > maxNesting) return fail(`the rule is nested more than ${maxNesting} levels deep`);
  const compileInner: Compile = (inner, innerVariables = variables) =>
    compileAt(inner, innerVariables, depth + 1, onUnknown);
  return isMap(rule) ? compileMap(rule, variables, compileInner, onUnknown) : compileList(rule, compileInner);
}

function compileMap(
  rule: Value,
  variables: Variables,
  compileInner: Compile,
  onUnknown: OnUnknown,
): Expression {
  const members = Object.entries(rule as object) as [string, Value][];
  const [member] = members;
  if (member === undefined || members.length > 1) return constant(rule);
  const [name, args] = member;
  const operator = name === "var" && variables !== "plain" ? shadowed[variables] : operators.get(name);
  if (operator !== undefined) return { constant: undefined, evaluate: operator(args, compileInner) };
  onUnknown(name);
  return { constant: undefined, evaluate: unknown(name) };
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
