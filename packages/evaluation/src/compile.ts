import {
  compileEach,
  type Compile,
  type Evaluate,
  type Expression,
  type Operator,
  type Surroundings,
} from "./operators/operator.js";
import { operators } from "./operators/registry.js";
import { shadowedVariable } from "./operators/shadowed-variable.js";
import { isReferenced } from "./inline-references.js";
import { fail } from "./rule-failure.js";
import { isList, isMap, type Value, type ValueMap } from "./value.js";

/** How deep a rule may be nested. Rules are compiled and run by recursive functions; this is a fifth of what exhausts the stack. */
const maxNesting = 1000;

type Variables = "plain" | Surroundings;

const shadowed: Readonly<Record<Surroundings, Operator>> = {
  outer: shadowedVariable("outer"),
  item: shadowedVariable("item"),
  outerThenItem: shadowedVariable("outerThenItem"),
};

/** Observes a rule while it is compiled or, by what `wrap` returns, while it is evaluated. */
export interface RuleObserver {
  /** Called with the name of each operator that does not exist. */
  readonly onUnknown?: (name: string) => void;
  /** Called for each operator; what it returns is evaluated instead. */
  readonly wrap?: (name: string, rule: ValueMap, evaluate: Evaluate) => Evaluate;
}

/**
 * Turns a rule into a function, once, so that each evaluation only calls it. An object with one key is an operator and its arguments; any
 * other object is data, and so are numbers, texts, booleans and null. The items of a list are rules. An unknown operator fails only when
 * an evaluation reaches it.
 *
 * @throws RuleFailure if the rule is nested too deep
 */
export function compile(rule: Value, observer?: RuleObserver): Evaluate {
  return compileAt(rule, { variables: "plain", depth: 0, isRepeated: false, observer }).evaluate;
}

/** Where in the whole rule a part of it is. */
interface Place {
  readonly variables: Variables;
  readonly depth: number;
  /** It is run for each item of a list. Operators name the variables of such parts, and of no others. */
  readonly isRepeated: boolean;
  readonly observer: RuleObserver | undefined;
}

function compileAt(rule: Value, place: Place): Expression {
  const { depth } = place;
  if (typeof rule !== "object" || rule === null) return new Constant(rule);
  if (depth > maxNesting) return fail(`the rule is nested more than ${maxNesting} levels deep`);
  if (!isReferenced(rule) || place.observer !== undefined) return compileStructure(rule, place);
  const variant = `${place.variables} ${place.isRepeated}`;
  let variants = referenced.get(rule);
  if (variants === undefined) referenced.set(rule, (variants = new Map<string, Expression>()));
  let expression = variants.get(variant);
  if (expression === undefined) variants.set(variant, (expression = compileStructure(rule, place)));
  return expression;
}

/** Evaluators are compiled once for all rules that refer to them: a hundred flags may share a rule of thousands of conditions. */
const referenced = new WeakMap<object, Map<string, Expression>>();

function compileStructure(rule: Value, place: Place): Expression {
  const { variables, depth, isRepeated, observer } = place;
  const compileInner: Compile = (inner, itemVariables) =>
    compileAt(inner, {
      variables: itemVariables ?? variables,
      depth: depth + 1,
      isRepeated: isRepeated || itemVariables !== undefined,
      observer,
    });
  return isMap(rule) ? compileMap(rule, place, compileInner) : compileList(rule, compileInner);
}

function compileMap(rule: Value, place: Place, compileInner: Compile): Expression {
  const { variables, isRepeated, observer } = place;
  // Not Object.entries: data of a hundred thousand members is only passed by.
  const names = Object.keys(rule as object);
  const [name] = names;
  if (name === undefined || names.length > 1) return new Constant(rule);
  const args = (rule as ValueMap)[name] ?? null;
  const operator = name === "var" && variables !== "plain" ? shadowed[variables] : operators.get(name);
  if (operator !== undefined) {
    const plain = operator(args, compileInner);
    const work = workOf(args);
    const evaluate = isRepeated || work >= minCharged ? charged(plain, work) : plain;
    return { constant: undefined, evaluate: observer?.wrap?.(name, rule as ValueMap, evaluate) ?? evaluate };
  }
  observer?.onUnknown?.(name);
  const evaluate = unknown(name);
  return { constant: undefined, evaluate: observer?.wrap?.(name, rule as ValueMap, evaluate) ?? evaluate };
}

/** Of an operator that runs once, work below this is not worth counting. */
const minCharged = 64;

/** The work of applying an operator once: it looks at each argument, and may read all of a text, or all names of an object. */
function workOf(args: Value): number {
  const values = isList(args) ? args : [args];
  return values.reduce<number>((sum, value) => {
    if (typeof value === "string") return sum + 1 + (value.length >> 3);
    return sum + (isMap(value) ? Object.keys(value).length : 1);
  }, 1);
}

/** Charges the work of an operator, and its result if that is a text, which the operator around it may read. */
function charged(evaluate: Evaluate, work: number): Evaluate {
  return (data, scope) => {
    scope.charge(work);
    const result = evaluate(data, scope);
    if (typeof result === "string") scope.chargeText(result);
    return result;
  };
}

function compileList(items: Value, compileInner: Compile): Expression {
  if (!isList(items)) return new Constant(items);
  const parts = compileEach(items, compileInner);
  if (parts.every((part) => part === undefined)) return new Constant(items);
  const evaluate: Evaluate = (data, scope) => {
    scope.chargeMade(items.length);
    return parts.map((part, index) => (part === undefined ? (items[index] ?? null) : part(data, scope)));
  };
  return { constant: undefined, evaluate };
}

class Constant implements Expression {
  readonly constant: Value;

  constructor(value: Value) {
    this.constant = value;
  }

  get evaluate(): Evaluate {
    const value = this.constant;
    return () => value;
  }
}

function unknown(name: string): Evaluate {
  return () => fail(`there is no operator ${JSON.stringify(name)}`);
}
