import { isReferenced } from "./inline-references.js";
import { listOperators } from "./operators/item-rule.js";
import { isList, isMap, type Value } from "./value.js";

/**
 * Heap, in bytes, that parts of a rule take once they are compiled, beyond what `heapWeights.serving` counts for their text. Measured on Node 24 in
 * rules of 20,000 such parts. heap-budget.test.ts of the agent fills a small heap with them.
 */
const extraBytes = {
  operator: 30,
  /** A list with an operator in it is made anew by each evaluation. */
  computedList: 180,
  /** A result of `if` with an operator in it: what it gives may be run as a rule. */
  computedResult: 180,
  /** A list operator, with the rule for its items. */
  listOperator: 300,
  /** In an evaluator: what is noted of it until the evaluators refer to each other. */
  reference: 500,
  /** A share of `fractional`. */
  share: 60,
  missing: 200,
  /** `if`. */
  branches: 70,
  /** A variable with a default, or of more than one step. */
  longVariable: 110,
  /** An operator in a rule for items: its work is counted. */
  repeated: 110,
  /** A variable in a rule for items: it is looked up around the list, too. */
  repeatedVariable: 150,
} as const;

const branchOperators = new Set(["if", "?:"]);

/**
 * Heap, in bytes, that a rule takes once it is compiled, beyond the weight of its text. An evaluator that it refers to is compiled once for all flags and counts
 * with its document, but for rules for items, which compile it in another way.
 */
export function compiledHeapBytes(rule: Value): number {
  return bytesOf(rule, false) ?? 0;
}

/** Undefined for a constant, of which nothing is compiled. */
function bytesOf(rule: Value, isRepeated: boolean): number | undefined {
  if (typeof rule !== "object" || rule === null) return undefined;
  if (isReferenced(rule) && !isRepeated) return 0;
  if (!isMap(rule)) return bytesOfList(rule, isRepeated);
  const names = Object.keys(rule);
  const [name] = names;
  if (name === undefined || names.length > 1) return undefined;
  return bytesOfOperator(name, rule[name] ?? null, isRepeated);
}

function bytesOfList(items: readonly Value[], isRepeated: boolean): number | undefined {
  const parts = items.flatMap((item) => bytesOf(item, isRepeated) ?? []);
  return parts.length === 0 ? undefined : parts.reduce((sum, part) => sum + part, extraBytes.computedList);
}

function bytesOfOperator(name: string, args: Value, isRepeated: boolean): number {
  const own = extraBytes.operator + ownBytes(name, args) + (isRepeated ? repeatedBytes(name) : 0);
  if (!isList(args)) return own + (bytesOf(args, isRepeated) ?? 0);
  const hasItems = listOperators.has(name);
  const hasResults = branchOperators.has(name);
  return args.reduce<number>((sum, arg, index) => {
    const bytes = bytesOf(arg, isRepeated || (hasItems && index > 0));
    const isResult = hasResults && (index % 2 === 1 || index === args.length - 1);
    return bytes === undefined ? sum : sum + bytes + (isResult ? extraBytes.computedResult : 0);
  }, own);
}

function ownBytes(name: string, args: Value): number {
  if (listOperators.has(name)) return extraBytes.listOperator;
  if (branchOperators.has(name)) return extraBytes.branches;
  if (name === "$ref") return extraBytes.reference;
  if (name === "fractional" && isList(args)) return args.length * extraBytes.share;
  if (name === "missing" || name === "missing_some") return extraBytes.missing;
  const isLong = name === "var" && (typeof args === "object" || String(args).includes("."));
  return isLong ? extraBytes.longVariable : 0;
}

function repeatedBytes(name: string): number {
  return extraBytes.repeated + (name === "var" ? extraBytes.repeatedVariable : 0);
}
