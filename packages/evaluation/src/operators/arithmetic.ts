import { toNumber } from "../to-number.js";
import { integerZero, isList, type Value } from "../value.js";
import { argument, binaryOperator, eager, listOf, type Apply, type Operator } from "./operator.js";

export const sum: Operator = binaryOperator(
  // Beginning with 0, as Go does: two negative zeros add up to zero.
  (a, b, scope) => 0 + toNumber(a, scope) + toNumber(b, scope),
  (args, scope) => {
    if (!isList(args)) return toNumber(args, scope);
    if (args.length === 1) return toNumber(argument(args, 0), scope);
    return listOf(args, scope).reduce<number>((total, value) => total + toNumber(value, scope), 0);
  },
);

export const difference: Operator = binaryOperator(
  (a, b, scope) => toNumber(a, scope) - toNumber(b, scope),
  (args, scope) => {
    const values = listOf(args, scope);
    if (values.length === 0) return integerZero;
    const first = toNumber(argument(values, 0), scope);
    if (values.length === 1) return -1 * first;
    return values.slice(1).reduce<number>((total, value) => total - toNumber(value, scope), first);
  },
);

export const product: Operator = binaryOperator(
  (a, b, scope) => toNumber(a, scope) * toNumber(b, scope),
  (args, scope) => listOf(args, scope).reduce<number>((total, value) => total * toNumber(value, scope), 1),
);

export const quotient: Operator = binaryOperator(
  (a, b, scope) => toNumber(a, scope) / toNumber(b, scope),
  (args, scope) => {
    const values = listOf(args, scope);
    if (values.length === 0) return integerZero;
    return values
      .slice(1)
      .reduce<number>((total, value) => total / toNumber(value, scope), toNumber(argument(values, 0), scope));
  },
);

export const remainder: Operator = binaryOperator(
  (a, b, scope) => toNumber(a, scope) % toNumber(b, scope),
  (args, scope) => {
    const values = listOf(args, scope);
    return toNumber(argument(values, 0), scope) % toNumber(argument(values, 1), scope);
  },
);

export const absolute: Operator = eager((args, scope) =>
  Math.abs(toNumber(isList(args) ? argument(args, 0) : args, scope)),
);

export const maximum: Operator = eager(extreme((a, b) => a > b));
export const minimum: Operator = eager(extreme((a, b) => a < b));

/** The first value that no later one beats. NaN beats nothing and is beaten by nothing. */
function extreme(beats: (a: number, b: number) => boolean): Apply {
  return (args, scope) => {
    const values = listOf(args, scope);
    if (values.length === 0) return null;
    let best = toNumber(argument(values, 0), scope);
    for (let i = 1; i < values.length; i++) {
      const value: Value = argument(values, i);
      const number = toNumber(value, scope);
      if (beats(number, best)) best = number;
    }
    return best;
  };
}
