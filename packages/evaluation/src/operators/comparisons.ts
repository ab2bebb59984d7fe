import { isEqual, isLess, isStrictlyEqual } from "../comparison.js";
import type { Scope } from "../scope.js";
import { isList, type Value } from "../value.js";
import { binary, listOf, type Operator } from "./operator.js";
import { chargeText } from "./text.js";

type Relation = (a: Value, b: Value) => boolean;

/** Whether two values are related. A third must be related to the second in the same way; with more than three only the first two count. */
function ordering(isRelated: Relation): Operator {
  const applyTwo = (a: Value, b: Value, scope: Scope): boolean => {
    // Texts are compared by our own code, in UTF-8 order.
    if (typeof a === "string") chargeText(a, scope);
    return isRelated(a, b);
  };
  return binary(applyTwo, (args, scope) => {
    const values = listOf(args, scope);
    const [a, b, c] = values;
    if (a === undefined || b === undefined || !applyTwo(a, b, scope)) return false;
    return c === undefined || values.length > 3 || applyTwo(b, c, scope);
  });
}

const isAtMost: Relation = (a, b) => isLess(a, b) || isEqual(a, b);

export const less = ordering(isLess);
export const lessOrEqual = ordering(isAtMost);
export const greater = ordering((a, b) => isLess(b, a));
export const greaterOrEqual = ordering((a, b) => isAtMost(b, a));

export const equal = equality(true);
export const unequal = equality(false);

function equality(wanted: boolean): Operator {
  return binary(
    (a, b) => isEqual(a, b) === wanted,
    (args, scope) => areFirstTwo(isEqual, listOf(args, scope)) === wanted,
  );
}

export const strictlyEqual = strictEquality(true);
export const strictlyUnequal = strictEquality(false);

/** Unlike equality it accepts any arguments; anything but a list of two or more is unequal. */
function strictEquality(wanted: boolean): Operator {
  return binary(
    (a, b) => isStrictlyEqual(a, b) === wanted,
    (args) => (isList(args) && areFirstTwo(isStrictlyEqual, args)) === wanted,
  );
}

function areFirstTwo(isRelated: Relation, [a, b]: readonly Value[]): boolean {
  return a !== undefined && b !== undefined && isRelated(a, b);
}
