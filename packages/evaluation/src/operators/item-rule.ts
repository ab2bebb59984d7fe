import { fail } from "../rule-failure.js";
import type { Scope } from "../scope.js";
import { isList, isMap, type Value } from "../value.js";
import { isInert } from "./data-rule.js";
import type { Compile, Evaluate, Surroundings } from "./operator.js";
import { mustReplace } from "./shadowed-variable.js";
import { isOfItem, substituteVariables } from "./substitution.js";
import { variable } from "./variables.js";

/**
 * How the variables of a rule for items get their values.
 *
 * - plain: no variable would be replaced; it is an ordinary rule on the item.
 * - shadowed: reading the data around the list first, and the item second, gives the same result as replacing variables, unless one holds
 *   an object.
 * - replaced: only replacing the variables gives the right result.
 */
type Handling = "plain" | "shadowed" | "replaced";

/** These look at their arguments as written in the rule, so that a value there differs from a rule that gives that value. */
export const listOperators: ReadonlySet<string> = new Set(["filter", "map", "reduce", "all", "none", "some"]);
const branchOperators = new Set(["and", "or", "if", "?:"]);
const noReads: readonly Evaluate[] = [];

/** A rule that list operators run on each item, after its variables were given the values they have around the list. */
export class ItemRule {
  readonly #rule: Value;
  readonly #surroundings: Surroundings;
  readonly #mustBeObject: boolean;
  readonly #compile: Compile;
  readonly #evaluate: Evaluate | undefined;
  readonly #isShadowed: boolean;
  /** Reads variables that would be replaced even in parts that are never evaluated, if they hold an object; see `#isReplacedTwice`. */
  readonly #outerReads: readonly Evaluate[];

  /** @param mustBeObject whether the rule fails on every item unless it is an object, also after its variables were replaced */
  constructor(rule: Value, surroundings: Surroundings, mustBeObject: boolean, compile: Compile) {
    this.#rule = rule;
    this.#surroundings = surroundings;
    this.#mustBeObject = mustBeObject;
    this.#compile = compile;
    const handling = mustBeObject && !isMap(rule) ? "plain" : handlingOf(rule, mustBeObject);
    this.#isShadowed = handling === "shadowed";
    this.#outerReads =
      this.#isShadowed && surroundings === "outerThenItem" ? readsIn(rule, compile).slice() : noReads;
    if (handling === "plain") this.#evaluate = this.#compileObject(rule);
    else if (handling === "shadowed") this.#evaluate = compile(rule, surroundings).evaluate;
  }

  /** Calls `visit` with the function that evaluates an item; possibly twice, so `visit` must have no effects besides its result. */
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
   * True if an object from around the list becomes part of the rule, whose own variables are then replaced by those of the item: that can
   * fail, though the object is never evaluated.
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
    return isOfItem(member) ? [] : [variable(member, compile)];
  });
}

function isVariable(rule: Value): boolean {
  return isMap(rule) && Object.hasOwn(rule, "var");
}

function hasReplaceable(rule: Value): boolean {
  if (isList(rule)) return rule.some(hasReplaceable);
  if (!isMap(rule)) return false;
  return Object.entries(rule).some(([key, member]) =>
    key === "var" ? !isOfItem(member) : hasReplaceable(member),
  );
}

/** True if, as far as the rule alone shows, reading its variables is the same as replacing them. */
function isShadowable(rule: Value): boolean {
  if (!hasReplaceable(rule)) return true;
  if (isList(rule)) return rule.every(isShadowable);
  if (!isMap(rule)) return true;
  const [[operator, args] = ["", null], ...others] = Object.entries(rule);
  if (others.length > 0 || listOperators.has(operator)) return false;
  if (operator === "var") return isPlainPath(args);
  return (isList(args) || !branchOperators.has(operator)) && isShadowable(args);
}

/** A name, and optionally a default that is neither a list nor an object. */
function isPlainPath(args: Value): boolean {
  if (isList(args))
    return typeof args[0] === "string" && args.every((arg) => typeof arg !== "object" || arg === null);
  return typeof args === "string" || typeof args === "number";
}
