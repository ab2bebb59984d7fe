import {
  FlagError,
  operatorNames,
  parseFlag,
  targetingProblems,
  type Flag,
  type FlagSetContext,
  type TargetingProblem,
} from "@bunting/evaluation";
import { isDocumentation, isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { didYouMean, nearestWord, quoted } from "@bunting/runtime/options";
import { argumentProblem } from "./check-arguments.js";
import type { Finding } from "./finding.js";
import { ruleResults, type RulePart } from "./rule-results.js";
import { walkRule } from "./walk-rule.js";

/** A flag as it is served, and as it was written. */
export interface FlagPart {
  readonly key: string;
  readonly definition: JsonValue;
  readonly written: JsonObject;
  readonly path: readonly string[];
}

const servedFields = new Set(["state", "variants", "defaultVariant", "targeting", "metadata"]);
const states = ["ENABLED", "DISABLED"];
/** How many variants of a flag are named in a message, and for how many unknown operators of it a known one is sought. */
const maxNamed = 20;

/** What is to be said about one flag. */
export function checkFlag(part: FlagPart, set: FlagSetContext): readonly Finding[] {
  const { key, definition, path } = part;
  const findings = checkFields(part);
  try {
    const flag = parseFlag(key, definition, set);
    return findings.concat(checkVariants(flag, path), checkRule(part, flag, set.evaluators));
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    const at = error.message.includes("default variant") ? ["defaultVariant"] : [];
    const message = `agents refuse it: ${error.message}`;
    findings.push({ severity: "error", kind: "flag", flag: key, path: [...path, ...at], message });
  }
  return findings;
}

function checkFields({ key, written, path }: FlagPart): Finding[] {
  const findings: Finding[] = [];
  const warn = (kind: Finding["kind"], field: string, message: string): void => {
    findings.push({ severity: "warning", kind, flag: key, path: [...path, field], message });
  };
  for (const field of Object.keys(written)) {
    if (servedFields.has(field) || field === "key" || isDocumentation(field)) continue;
    const isOperator = operatorNames.includes(field);
    const hint = isOperator
      ? `: it is an operator, which belongs below "targeting"`
      : didYouMean(field, servedFields);
    warn("unknown-field", field, `${quoted(field)} is not a field of a flag and is not served${hint}`);
  }
  const { state } = written;
  if (state === undefined || state === null)
    warn("state", "state", `flag ${quoted(key)} has no "state": write ENABLED or DISABLED`);
  else if (typeof state === "string" && !states.includes(state)) {
    const message = `"state" is ${quoted(state)}, which counts as ENABLED: write ENABLED or DISABLED`;
    warn("state", "state", message);
  }
  return findings;
}

function checkVariants({ key, variants, state }: Flag, path: readonly string[]): Finding[] {
  const at = { severity: "warning", flag: key, path: [...path, "variants"] } as const;
  if (variants.size === 0) {
    if (state === "DISABLED") return [];
    const message = `flag ${quoted(key)} has no variants, so applications always use the default in their code`;
    return [{ ...at, kind: "no-variants", message }];
  }
  const byType = new Map<string, string>();
  for (const [name, value] of variants) {
    const type = typeOf(value);
    if (!byType.has(type)) byType.set(type, name);
  }
  if (byType.size === 1) return [];
  const types = [...byType].map(([type, name]) => `${quoted(name)} is ${type}`).join(", ");
  const message = `the variants of flag ${quoted(key)} have different types (${types}): an application asks for one type, and gets an error for the others`;
  return [{ ...at, kind: "mixed-variants", message }];
}

function typeOf(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function checkRule({ written, path }: FlagPart, flag: Flag, evaluators: JsonObject): readonly Finding[] {
  const targeting = written["targeting"];
  if (!isJsonObject(targeting)) return [];
  const start = { rule: targeting, path: [...path, "targeting"] };
  const findings: Finding[] = [];
  const add = (
    severity: Finding["severity"],
    kind: Finding["kind"],
    message: string,
    at: readonly string[],
  ): void => {
    findings.push({ severity, kind, message, flag: flag.key, path: at });
  };
  const problems = new Map(targetingProblems(flag).map((each, at) => [each.operator, withHint(each, at)]));
  walkRule(start, evaluators, (name, args, at) => {
    const problem = problems.get(name);
    const isReference = name === "$ref";
    if (problem !== undefined && !(isReference && isNamed(args, evaluators))) {
      if (!isReference) problems.delete(name);
      const kind = isReference ? "unknown-evaluator" : "unknown-operator";
      add(
        "error",
        kind,
        `${isReference ? referenceText(args) : problem}: evaluations that reach it fail`,
        at,
      );
    }
    const wrong = argumentProblem(name, args);
    if (wrong !== undefined) add("warning", "operator-arguments", wrong, at);
  });
  const tooDeep = problems.get(undefined);
  if (tooDeep !== undefined) add("error", "flag", `${tooDeep}: its evaluations fail`, start.path);
  for (const { path: at, message } of unknownVariants(flag, start, evaluators))
    add("error", "unknown-variant", message, at);
  return findings;
}

function withHint({ operator, message }: TargetingProblem, index: number): string {
  if (operator === undefined || operator === "$ref" || index >= maxNamed) return message;
  const meant = nearestWord(operator, operatorNames);
  return meant === undefined ? message : `${message} (did you mean ${quoted(meant)}?)`;
}

function isNamed(args: JsonValue, evaluators: JsonObject): boolean {
  return typeof args === "string" && Object.hasOwn(evaluators, args);
}

function referenceText(args: JsonValue): string {
  return typeof args === "string"
    ? `there is no evaluator ${quoted(args)} in "$evaluators"`
    : `a "$ref" needs the name of an evaluator`;
}

function unknownVariants(
  flag: Flag,
  start: RulePart,
  evaluators: JsonObject,
): readonly { readonly path: readonly string[]; readonly message: string }[] {
  // A flag may have thousands of variants, and a rule thousands of results that are none: the text of each finding must not have all.
  const names = [...flag.variants.keys()].slice(0, maxNamed + 1).map((name) => quoted(name));
  const variants = (names.length > maxNamed ? names.with(maxNamed, "...") : names).join(", ");
  const ofFlag = `the variants of flag ${quoted(flag.key)} (${variants || "it has none"})`;
  const unknown = ruleResults(evaluators, start).filter(({ value }) => {
    const name = variantName(value);
    return name !== undefined && !flag.variants.has(name);
  });
  const messages = new Map<string, readonly string[]>();
  for (const { value, path, operator } of unknown) {
    const name = variantName(value) ?? "";
    const message =
      operator === undefined
        ? `the rule gives ${quoted(name)}, which is not one of ${ofFlag}: its evaluation fails then`
        : `${quoted(operator)} gives true or false, and these are not both ${ofFlag}: choose one with {"if": [condition, variant, variant]}`;
    if (!messages.has(message)) messages.set(message, path);
  }
  return [...messages].map(([message, path]) => ({ path, message }));
}

/** As agents compare them: a result names a variant by its JSON without quotes. Undefined for null, which means the default, and for what is rarely meant as a name. */
function variantName(value: JsonValue): string | undefined {
  if (value === null || typeof value === "object") return undefined;
  return typeof value === "string" ? value.replaceAll('"', "") : JSON.stringify(value);
}
