import { fail } from "../rule-failure.js";
import type { Scope } from "../scope.js";
import { isList, isMap, type Value } from "../value.js";
import { isInert } from "./data-rule.js";
import type { Compile, Evaluate, Surroundings } from "./operator.js";
import { mustReplace } from "./shadowed-variable.js";
import { isOfItem, substituteVariables } from "./substitution.js";

/**
 * How the variables of a rule for items come to their values.
 *
 * - plain: none of them would be replaced; it is an ordinary rule on the item.
 * - shadowed: looking around the list first, and at the item second, gives the same as replacing, unless a variable holds an object.
 * - replaced: only replacing them gives what it must.
 */
type Handling = "plain" | "shadowed" | "replaced";

/** They look at what stands in the rule before evaluating it, so that a value there is not the same as a rule that gives it. */
const listOperators = new Set(["filter", "map", "reduce", "all", "none", "some"]);
const branchOperators = new Set(["and", "or", "if", "?:"]);

/** A rule that list operators run on each item, after its variables got the values they have in its surroundings. */
export class ItemRule {
  readonly #rule: Value;
  readonly #surroundings: Surroundings;
  readonly #mustBeObject: boolean;
  readonly #compile: Compile;
  readonly #evaluate: Evaluate | undefined;
  readonly #isShadowed: boolean;
  /** Variables whose values, where one holds an object, are replaced even in what is never evaluated; see `isReplacedTwice`. */
  readonly #outerReads: readonly Evaluate[];

  /** @param mustBeObject whether it fails on every item if it is no object, or has become none by replacing */
  constructor(rule: Value, surroundings: Surroundings, mustBeObject: boolean, compile: Compile) {
    this.#rule = rule;
    this.#surroundings = surroundings;
    this.#mustBeObject = mustBeObject;
    this.#compile = compile;
    const handling = mustBeObject && !isMap(rule) ? "plain" : handlingOf(rule, mustBeObject);
    this.#isShadowed = handling === "shadowed";
    this.#outerReads = this.#isShadowed && surroundings === "outerThenItem" ? readsIn(rule, compile) : [];
    if (handling === "plain") this.#evaluate = this.#compileObject(rule);
    else if (handling === "shadowed") this.#evaluate = compile(rule, surroundings).evaluate;
  }

  /** Hands what evaluates an item to `visit`. It may be called twice: what it does until it returns must not show. */
  run<T>(outer: Value, scope: Scope, visit: (evaluate: Evaluate) => T): T {
    if (this.#evaluate === undefined || this.#isReplacedTwice(outer, scope))
      return visit(this.#replace(outer, scope));
    if (!this.#isShadowed) return visit(this.#evaluate);
    const around = scope.outer;
    scope.outer = outer;
    try {
      return visit(this.#evaluate);
    } catch (error) {
      if (error !== mustReplace) throw error;
    } finally {
      scope.outer = around;
    }
    return visit(this.#replace(outer, scope));
  }

  /**
   * True if an object from around the list becomes part of the rule, and then has its own variables replaced by what the item has for
   * them: that can fail, though nobody evaluates the object.
   */
  #isReplacedTwice(outer: Value, scope: Scope): boolean {
    return this.#outerReads.some((read) => !isInert(read(outer, scope), scope));
  }

  #replace(outer: Value, scope: Scope): Evaluate {
    const compile = this.#compile;
    const fromOuter =
      this.#surroundings === "item" ? this.#rule : substituteVariables(this.#rule, outer, scope, compile);
    if (this.#surroundings === "outer") return this.#compileObject(fromOuter);
    return (item) => this.#compileObject(substituteVariables(fromOuter, item, scope, compile))(item, scope);
  }

  #compileObject(rule: Value): Evaluate {
    if (this.#mustBeObject && !isMap(rule))
      return () => fail("a rule for the items of a list must be an object");
    return this.#compile(rule, "plain").evaluate;
  }
}

function handlingOf(rule: Value, mustBeObject: boolean): Handling {
  if (!hasReplaceable(rule)) return "plain";
  return (mustBeObject && isVariable(rule)) || !isShadowable(rule) ? "replaced" : "shadowed";
}

function readsIn(rule: Value, compile: Compile): readonly Evaluate[] {
  if (isList(rule)) return rule.flatMap((item) => readsIn(item, compile));
  if (!isMap(rule)) return [];
  return Object.entries(rule).flatMap(([key, member]) => {
    if (key !== "var") return readsIn(member, compile);
    return isOfItem(member) ? [] : [compile(rule, "plain").evaluate];
  });
}

function isVariable(rule: Value): boolean {
  return isMap(rule) && Object.hasOwn(rule, "var");
}

/** True if any variable in it may be replaced. */
function hasReplaceable(rule: Value): boolean {
  if (isList(rule)) return rule.some(hasReplaceable);
  if (!isMap(rule)) return false;
  return Object.entries(rule).some(([key, member]) =>
    key === "var" ? !isOfItem(member) : hasReplaceable(member),
  );
}

/** True if looking its variables up is as good as replacing them, as far as the rule alone tells. */
function isShadowable(rule: Value): boolean {
  if (!hasReplaceable(rule)) return true;
  if (isList(rule)) return rule.every(isShadowable);
  if (!isMap(rule)) return true;
  const [[operator, args] = ["", null], ...others] = Object.entries(rule);
  if (others.length > 0 || listOperators.has(operator)) return false;
  if (operator === "var") return isPlainPath(args);
  return (isList(args) || !branchOperators.has(operator)) && isShadowable(args);
}

/** A name, and perhaps a plain value to take if there is nothing of that name. */
function isPlainPath(args: Value): boolean {
  if (isList(args))
    return typeof args[0] === "string" && args.every((arg) => typeof arg !== "object" || arg === null);
  return typeof args === "string" || typeof args === "number";
}
