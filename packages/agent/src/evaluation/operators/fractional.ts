import { parseDistribution, pickVariant, type Distribution } from "../distribution.js";
import { murmur3 } from "../murmur3.js";
import type { Scope } from "../scope.js";
import { isList, isMap, type Value } from "../value.js";
import type { Evaluate, Operator } from "./operator.js";

/**
 * Splits subjects among variants by the hash of a text: of the first argument if that is a string, else of the flag's key and the
 * targeting key. Whatever is not as it should be gives null.
 *
 * Shares are mostly written out in the rule; then they are read once.
 */
export const fractional: Operator = (args, compile) => {
  if (!isList(args) || args.length === 0) {
    const { evaluate } = compile(args);
    return (data, scope) => fractionOf(evaluate(data, scope), data, scope);
  }
  const expressions = args.map((arg) => compile(arg));
  const [first, ...shares] = expressions;
  const constants = shares.flatMap(({ constant }) => (constant === undefined ? [] : [constant]));
  if (first === undefined || constants.length < shares.length) {
    return (data, scope) =>
      fractionOf(
        expressions.map(({ evaluate }) => evaluate(data, scope)),
        data,
        scope,
      );
  }
  return fixedShares(first.evaluate, constants);
};

function fixedShares(evaluateFirst: Evaluate, shares: readonly Value[]): Evaluate {
  const distribution = parseDistribution(shares);
  return (data, scope) => {
    const first = evaluateFirst(data, scope);
    if (typeof first === "string") return isMap(data) ? pick(distribution, first) : null;
    if (first === null) return pick(distribution, implicitKey(data, scope));
    return pick(parseDistribution([first, ...shares]), implicitKey(data, scope));
  };
}

function fractionOf(args: Value, data: Value, scope: Scope): Value {
  if (!isList(args) || !isMap(data)) return null;
  const [first, ...others] = args;
  if (first === undefined) return null;
  if (typeof first === "string") return pick(parseDistribution(others), first);
  return pick(parseDistribution(first === null ? others : args), implicitKey(data, scope));
}

function pick(distribution: Distribution | undefined, key: string | undefined): Value {
  return distribution === undefined || key === undefined ? null : pickVariant(distribution, murmur3(key));
}

function implicitKey(data: Value, scope: Scope): string | undefined {
  const targetingKey = isMap(data) && Object.hasOwn(data, "targetingKey") ? data["targetingKey"] : undefined;
  if (!isMap(data) || typeof targetingKey !== "string" || targetingKey === "") return undefined;
  return scope.flagKey(data) + targetingKey;
}
