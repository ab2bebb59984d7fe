import { parseDistribution, pickVariant, type VariantDistribution } from "../distribution.js";
import { murmur3 } from "../murmur3.js";
import type { Scope } from "../scope.js";
import { isList, isMap, type Value, type ValueMap } from "../value.js";
import { compileEach, listOf, type Compile, type Evaluate, type Operator } from "./operator.js";
import { toText } from "../to-text.js";
import { isSpace, trimSpace } from "../trim-space.js";

/**
 * Splits subjects among variants by the hash of a text: of the first argument if that is a string, else of the flag's key and the
 * targeting key. Invalid arguments give null.
 *
 * Shares are usually constants in the rule; then they are parsed once.
 */
export const fractional: Operator = (args, compile) => {
  if (!isList(args)) {
    const { evaluate } = compile(args);
    return (data, scope) => splitBy(evaluate(data, scope), data, scope);
  }
  const [first, ...others] = args;
  if (first === undefined) return () => null;
  const shares = compileEach(others, compile);
  if (shares.every((share) => share === undefined)) return ofFixedShares(first, others, compile);
  const { evaluate } = compile(first);
  return (data, scope) => {
    // For the values, and a bucket of each.
    scope.chargeMade(6 * shares.length);
    const key = evaluate(data, scope);
    const values = shares.map((share, index) =>
      share === undefined ? (others[index] ?? null) : share(data, scope),
    );
    return splitBy([key, ...values], data, scope);
  };
};

function ofFixedShares(first: Value, shares: readonly Value[], compile: Compile): Evaluate {
  const hash = compileJoinedHash(first, compile);
  if (hash !== undefined) return ofHash(hash, parseDistribution(shares));
  const { evaluate, constant } = compile(first);
  if (constant !== undefined && isList(constant)) return ofSubject(parseDistribution([constant, ...shares]));
  const distribution = parseDistribution(shares);
  return (data, scope) => {
    const key = evaluate(data, scope);
    return isMap(data) ? split(key, distribution, shares, data, scope) : null;
  };
}

function ofHash(
  hash: (data: Value, scope: Scope) => number,
  distribution: VariantDistribution | undefined,
): Evaluate {
  return (data, scope) => {
    const hashed = hash(data, scope);
    return distribution === undefined || !isMap(data) ? null : pickVariant(distribution, hashed);
  };
}

function ofSubject(distribution: VariantDistribution | undefined): Evaluate {
  return (data, scope) => (isMap(data) ? splitImplicitly(distribution, data, scope) : null);
}

function splitBy(args: Value, data: Value, scope: Scope): Value {
  const [key, ...shares] = isList(args) ? listOf(args, scope) : [];
  return key === undefined || !isMap(data)
    ? null
    : split(key, parseDistribution(shares), shares, data, scope);
}

/** A first argument that is neither a string nor null counts as the first share. */
function split(
  key: Value,
  distribution: VariantDistribution | undefined,
  shares: readonly Value[],
  data: ValueMap,
  scope: Scope,
): Value {
  if (key === null) return splitImplicitly(distribution, data, scope);
  if (typeof key !== "string") return splitImplicitly(parseDistribution([key, ...shares]), data, scope);
  scope.chargeReading(key);
  return distribution === undefined ? null : pickVariant(distribution, murmur3(key));
}

/** Splits by the flag's key and the targeting key, so that each flag splits the same subjects differently. */
function splitImplicitly(distribution: VariantDistribution | undefined, data: ValueMap, scope: Scope): Value {
  const key = data["targetingKey"];
  if (distribution === undefined || typeof key !== "string" || key === "") return null;
  const flagKey = scope.flagKey(data);
  scope.chargeReading(flagKey);
  scope.chargeReading(key);
  return pickVariant(distribution, murmur3(flagKey, key));
}

/**
 * The hash of `{"cat": [a, b]}`, the usual bucketing key, without joining the texts, which would take longer than hashing them.
 * Undefined if the rule is anything else.
 */
function compileJoinedHash(
  rule: Value,
  compile: Compile,
): ((data: Value, scope: Scope) => number) | undefined {
  const args = isMap(rule) && Object.keys(rule).length === 1 ? rule["cat"] : undefined;
  if (args === undefined || !isList(args) || args.length !== 2) return undefined;
  const { evaluate: first } = compile(args[0] ?? null);
  const { evaluate: second } = compile(args[1] ?? null);
  return (data, scope) => {
    const start = toText(first(data, scope));
    return joinedHash(start, toText(second(data, scope)), scope);
  };
}

function joinedHash(start: string, end: string, scope: Scope): number {
  scope.chargeReading(start);
  scope.chargeReading(end);
  const isTrimmed =
    start === "" || end === "" || isSpace(start.charCodeAt(0)) || isSpace(end.charCodeAt(end.length - 1));
  return isTrimmed ? murmur3(trimSpace(start + end)) : murmur3(start, end);
}
