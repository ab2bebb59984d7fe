import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";

/** A value that a rule may give, as far as the rule alone shows. */
export interface RuleResult {
  readonly value: JsonValue;
  readonly path: readonly string[];
  /** The operator that gives it; undefined if it is written there. */
  readonly operator: string | undefined;
}

/** A part of a document, and where. */
export interface RulePart {
  readonly rule: JsonValue;
  readonly path: readonly string[];
}

/** Operators that give true or false. */
export const booleanOperators: ReadonlySet<string> = new Set([
  ...["==", "===", "!=", "!==", "<", "<=", ">", ">=", "!", "!!", "in", "starts_with", "ends_with", "sem_ver"],
  ...["contains_all", "contains_any", "contains_none", "all", "none", "some"],
]);

/** The parts of a rule that are one: the operator's name, and its arguments; undefined if it is data. */
export function operatorOf(rule: JsonValue): readonly [name: string, args: JsonValue] | undefined {
  if (!isJsonObject(rule)) return undefined;
  const [member, ...others] = Object.entries(rule);
  return others.length > 0 ? undefined : member;
}

/**
 * The results that a rule shows without being evaluated: the branches of `if`, the variants of `fractional`, and true and false of operators
 * that compare. What comes from the context, or is computed, is not known.
 */
export function ruleResults(evaluators: JsonObject, start: RulePart): readonly RuleResult[] {
  /** A second visit of an evaluator adds nothing, and those that refer to themselves would have no end. */
  const visited = new Set<string>();

  const resultsOf = ({ rule, path }: RulePart): readonly RuleResult[] => {
    if (typeof rule !== "object" || rule === null) return [{ value: rule, path, operator: undefined }];
    const found = operatorOf(rule);
    if (found === undefined) return [];
    const [operator, args] = found;
    const inner = [...path, operator];
    if (operator === "$ref") return ofEvaluator(args);
    if (booleanOperators.has(operator))
      return [true, false].map((value) => ({ value, path: inner, operator }));
    if (!Array.isArray(args)) return [];
    const parts = (args as readonly JsonValue[]).map((part, index) => ({
      rule: part,
      path: [...inner, String(index)],
    }));
    const last = parts.length - 1;
    switch (operator) {
      case "fractional":
        return parts.flatMap(ofShare);
      case "if":
      case "?:":
        return parts.filter((_, index) => index % 2 === 1 || index === last).flatMap(resultsOf);
      case "and":
        return ofChain(parts, (value) => value === false);
      case "or":
        return ofChain(parts, (value) => value !== false && value !== null);
      default:
        return [];
    }
  };

  /** Of all parts but the last only the results that end the chain. */
  const ofChain = (parts: readonly RulePart[], ends: (value: JsonValue) => boolean): readonly RuleResult[] =>
    parts.flatMap((part, index) =>
      resultsOf(part).filter(({ value }) => index === parts.length - 1 || ends(value)),
    );

  const ofEvaluator = (name: JsonValue): readonly RuleResult[] => {
    if (typeof name !== "string" || !Object.hasOwn(evaluators, name) || visited.has(name)) return [];
    visited.add(name);
    return resultsOf({ rule: evaluators[name] ?? null, path: ["$evaluators", name] });
  };

  /** The variant of a share; a `fractional` may have its key as the first argument. */
  const ofShare = ({ rule: share, path }: RulePart): readonly RuleResult[] => {
    if (!Array.isArray(share)) return [];
    return resultsOf({ rule: (share as readonly JsonValue[])[0] ?? null, path: [...path, "0"] });
  };

  return resultsOf(start);
}
