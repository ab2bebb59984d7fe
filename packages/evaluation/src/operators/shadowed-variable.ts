import type { Scope } from "../scope.js";
import type { Value } from "../value.js";
import { isInert } from "./data-rule.js";
import type { Operator, Surroundings } from "./operator.js";
import { isOfItem } from "./substitution.js";
import { variable } from "./variables.js";

/** Thrown if a variable that is read holds an object, which would have become part of the rule. Only item-rule.ts catches it. */
export const mustReplace = new Error("a variable holds an object");

/**
 * A variable that is read where the engine of flagd would have replaced it: from the data around the list, then from the item. The result
 * is the same as long as the value would not become a rule as part of a rule.
 */
export function shadowedVariable(surroundings: Surroundings): Operator {
  return (args, compile) => {
    const read = variable(args, compile);
    if (isOfItem(args)) return read;
    if (surroundings === "item") return (data, scope) => inert(read(data, scope), scope);
    const isOuter = surroundings === "outer";
    return (data, scope) =>
      inert(read(scope.outer, scope), scope) ??
      (isOuter ? read(data, scope) : inert(read(data, scope), scope));
  };
}

function inert(value: Value, scope: Scope): Value {
  if (!isInert(value, scope)) throw mustReplace;
  return value;
}
