import { isEqual, isLess, isStrictlyEqual } from "../comparison.js";
import type { Scope } from "../scope.js";
import { isList, type Value } from "../value.js";
import { binaryOperator, listOf, type Operator } from "./operator.js";

type Relation = (a: Value, b: Value, scope: Scope) => boolean;

/** Whether two values are related. A third must be related to the second in the same way; with more than three only the first two count. */
function ordering(isRelated: Relation): Operator {
  return binaryOperator(isRelated, (args, scope) => {
    const values = listOf(args, scope);
    const [a, b, c] = values;
    if (a === undefined || b === undefined || !isRelated(a, b, scope)) return false;
    return c === undefined || values.length > 3 || isRelated(b, c, scope);
  });
}

const isAtMost: Relation = (a, b, scope) => isLess(a, b, scope) || isEqual(a, b, scope);

export const less = ordering(isLess);
export const lessOrEqual = ordering(isAtMost);
export const greater = ordering((a, b, scope) => isLess(b, a, scope));
export const greaterOrEqual = ordering((a, b, scope) => isAtMost(b, a, scope));

export const equal = equality(true);
export const unequal = equality(false);

function equality(wanted: boolean): Operator {
  return binaryOperator(
    (a, b, scope) => isEqual(a, b, scope) === wanted,
    (args, scope) => areFirstTwo(isEqual, listOf(args, scope), scope) === wanted,
  );
}

export const strictlyEqual = strictEquality(true);
export const strictlyUnequal = strictEquality(false);

/** Unlike equality it accepts any arguments; anything but a list of two or more is unequal. */
function strictEquality(wanted: boolean): Operator {
  return binaryOperator(
    (a, b, scope) => isStrictlyEqual(a, b, scope) === wanted,
    (args, scope) => (isList(args) && areFirstTwo(isStrictlyEqual, args, scope)) === wanted,
  );
}

function areFirstTwo(isRelated: Relation, [a, b]: readonly Value[], scope: Scope): boolean {
  return a !== undefined && b !== undefined && isRelated(a, b, scope);
}
