import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { extensionTargets, type ExtensionRequest, type ExtensionTarget } from "../extension-request.js";
import { isTexts } from "../json-of.js";

/** Which objects a rule is for: those to which all that it names applies. */
export interface Matching {
  /** Default: all. */
  readonly targets?: readonly ExtensionTarget[];
  /** Kinds of objects, such as `Ingress`. Default: all. */
  readonly kinds?: readonly string[];
  /** Names of namespaces; a star at the beginning, at the end or at both stands for any text: `*-pro`. Default: all. */
  readonly namespaces?: readonly string[];
  /** Labels that the namespace has. */
  readonly namespaceLabels?: Readonly<Record<string, string>>;
  /** Labels that the object has. */
  readonly objectLabels?: Readonly<Record<string, string>>;
}

export const matchingFields = ["targets", "kinds", "namespaces", "namespaceLabels", "objectLabels"] as const;

export function matches(rule: Matching, { target, object, namespace }: ExtensionRequest): boolean {
  const { labels } = object.metadata;
  return (
    (rule.targets?.includes(target) ?? true) &&
    (rule.kinds?.includes(object.kind) ?? true) &&
    (rule.namespaces?.some((pattern) => isNamed(namespace.name, pattern)) ?? true) &&
    hasLabels(namespace.labels, rule.namespaceLabels) &&
    hasLabels(isJsonObject(labels) ? labels : {}, rule.objectLabels)
  );
}

function isNamed(name: string, pattern: string): boolean {
  if (pattern.startsWith("*"))
    return pattern.endsWith("*") ? name.includes(pattern.slice(1, -1)) : name.endsWith(pattern.slice(1));
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function hasLabels(labels: JsonObject, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** Mistake in the matching part of a rule, as a sentence; undefined if there is none. */
export function problemOfMatching(rule: JsonObject): string | undefined {
  for (const field of ["targets", "kinds", "namespaces"] as const)
    if (rule[field] !== undefined && !isListOfTexts(rule[field])) return `${field} is no list of texts`;
  for (const field of ["namespaceLabels", "objectLabels"] as const)
    if (rule[field] !== undefined && !isTexts(rule[field])) return `${field} is no object with texts`;
  const starred = ((rule["namespaces"] ?? []) as readonly string[]).find((each) => /.\*./.test(each));
  if (starred !== undefined) return `namespaces has ${starred}, with a star that is neither first nor last`;
  const targets = (rule["targets"] ?? []) as readonly string[];
  const other = targets.find((each) => !extensionTargets.some((target) => target === each));
  return other === undefined
    ? undefined
    : `targets names ${other}, which is none of ${extensionTargets.join(", ")}`;
}

function isListOfTexts(value: JsonValue): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
