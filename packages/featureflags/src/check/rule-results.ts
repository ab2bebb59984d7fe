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
export class RuleResults {
  readonly #evaluators: JsonObject;
  /** A second visit of an evaluator adds nothing, and those that refer to themselves would have no end. */
  readonly #visited = new Set<string>();

  constructor(evaluators: JsonObject) {
    this.#evaluators = evaluators;
  }

  of({ rule, path }: RulePart): readonly RuleResult[] {
    if (typeof rule !== "object" || rule === null) return [{ value: rule, path, operator: undefined }];
    const found = operatorOf(rule);
    if (found === undefined) return [];
    const [operator, args] = found;
    const inner = [...path, operator];
    if (operator === "$ref") return this.#ofEvaluator(args);
    if (operator === "fractional") return this.#ofShares(args, inner);
    if (booleanOperators.has(operator))
      return [true, false].map((value) => ({ value, path: inner, operator }));
    if (!Array.isArray(args)) return [];
    const parts = (args as readonly JsonValue[]).map((part, index) => ({
      rule: part,
      path: [...inner, String(index)],
    }));
    const last = parts.length - 1;
    switch (operator) {
      case "if":
      case "?:":
        return parts.filter((_, index) => index % 2 === 1 || index === last).flatMap((part) => this.of(part));
      case "and":
        return this.#ofChain(parts, (value) => value === false);
      case "or":
        return this.#ofChain(parts, (value) => value !== false && value !== null);
      default:
        return [];
    }
  }

  /** Of all parts but the last only the results that end the chain. */
  #ofChain(parts: readonly RulePart[], ends: (value: JsonValue) => boolean): readonly RuleResult[] {
    return parts.flatMap((part, index) =>
      this.of(part).filter(({ value }) => index === parts.length - 1 || ends(value)),
    );
  }

  #ofEvaluator(name: JsonValue): readonly RuleResult[] {
    if (typeof name !== "string" || !Object.hasOwn(this.#evaluators, name) || this.#visited.has(name))
      return [];
    this.#visited.add(name);
    return this.of({ rule: this.#evaluators[name] ?? null, path: ["$evaluators", name] });
  }

  /** The variants of a `fractional`, which may have its key as the first argument. */
  #ofShares(args: JsonValue, path: readonly string[]): readonly RuleResult[] {
    if (!Array.isArray(args)) return [];
    return (args as readonly JsonValue[]).flatMap((share, index) => {
      if (!Array.isArray(share)) return [];
      return this.of({
        rule: (share as readonly JsonValue[])[0] ?? null,
        path: [...path, String(index), "0"],
      });
    });
  }
}
