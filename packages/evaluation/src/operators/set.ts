import { fail } from "../rule-failure.js";
import { isMap } from "../value.js";
import { runAsRule } from "./data-rule.js";
import { listOf, type Operator } from "./operator.js";

/** A copy of an object with one property set. */
export const set: Operator = (args, compile) => {
  const { evaluate } = compile(args);
  return (data, scope) => {
    const [object, property, value] = listOf(evaluate(data, scope), scope);
    if (object === undefined) return null;
    if (property === undefined || value === undefined || !isMap(object)) return object;
    if (typeof property !== "string") return fail("the name of a property must be a string");
    scope.chargeText(property);
    scope.chargeMembers(object);
    return { ...object, [property]: runAsRule(value, data, scope, compile) };
  };
};
