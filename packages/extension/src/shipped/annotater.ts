import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import type { ExtensionObject } from "../extension-request.js";
import type { PreCreateHook } from "../hooks.js";
import { isTexts } from "../json-of.js";
import { mapPodTexts, mapTexts } from "../pod-parts.js";
import { matches, matchingFields, problemOfMatching, type Matching } from "./matching.js";

/** Annotations and labels that objects get unless they have them. */
export interface AnnotaterRule extends Matching {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Annotations of the Pods that the object makes; likewise their labels. A sidecar brings its Pod annotations only. */
  readonly podAnnotations?: Readonly<Record<string, string>>;
  readonly podLabels?: Readonly<Record<string, string>>;
  /** Also where the object has another value. */
  readonly overwrite?: boolean;
}

const textFields = ["annotations", "labels", "podAnnotations", "podLabels"] as const;

/**
 * Default annotations and labels for objects that rules select. Of several rules with the same key, the first one that matches counts. Throws if a rule is
 * wrong: a mistake in a file of rules is found when the extension starts.
 */
export function annotater(rules: readonly AnnotaterRule[]): PreCreateHook {
  checkRules(rules as unknown as JsonValue);
  return (request) => {
    const matching = rules.filter((rule) => matches(rule, request));
    const defaults = matching.filter(({ overwrite }) => overwrite !== true);
    // The first rule that overwrites wins over later ones.
    const overwriting = matching.filter(({ overwrite }) => overwrite === true).reverse();
    return [...defaults, ...overwriting].reduce<ExtensionObject>(applied, request.object);
  };
}

function applied(object: ExtensionObject, rule: AnnotaterRule): ExtensionObject {
  const put =
    (texts: Readonly<Record<string, string>> = {}) =>
    (present: JsonObject): JsonObject =>
      rule.overwrite === true ? { ...present, ...texts } : { ...texts, ...present };
  const own = mapTexts(mapTexts(object, "annotations", put(rule.annotations)), "labels", put(rule.labels));
  return mapPodTexts(
    mapPodTexts(own, "annotations", put(rule.podAnnotations)),
    "labels",
    put(rule.podLabels),
  );
}

function checkRules(rules: JsonValue): void {
  if (!Array.isArray(rules)) throw new TypeError("rules are a list: [{...}]");
  for (const [index, rule] of (rules as readonly JsonValue[]).entries()) {
    const problem = problemOf(rule);
    if (problem !== undefined) throw new TypeError(`rule ${index + 1}: ${problem}`);
  }
}

function problemOf(rule: JsonValue): string | undefined {
  if (!isJsonObject(rule)) return "it is no object";
  const known: readonly string[] = [...matchingFields, ...textFields, "overwrite"];
  const other = Object.keys(rule).find((field) => !known.includes(field));
  if (other !== undefined) return `${other} is none of ${known.join(", ")}`;
  const wrong = textFields.find((field) => rule[field] !== undefined && !isTexts(rule[field]));
  if (wrong !== undefined) return `${wrong} is no object with texts`;
  if (textFields.every((field) => rule[field] === undefined))
    return `it has none of ${textFields.join(", ")}`;
  if (!["undefined", "boolean"].includes(typeof rule["overwrite"]))
    return "overwrite is neither true nor false";
  return problemOfMatching(rule);
}
