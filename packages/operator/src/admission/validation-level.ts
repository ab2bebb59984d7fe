import type { Finding, FindingKind } from "@bunting/featureflags/checks";
import { quoted } from "@bunting/runtime";
import { buntingAnnotations } from "../api/names.js";

/**
 * What is refused of a FeatureFlag, by the annotation `bunting.dev/validation` of it or of its namespace:
 *
 * - `strict`: every error that the checks find;
 * - `errors`: those with which flags are not served as their author means, whatever the context of an evaluation, and those of extensions;
 * - `warn`: nothing.
 */
export type ValidationLevel = "strict" | "errors" | "warn";

/** An unknown evaluator is accepted, as by the open-feature-operator: its rule fails, and applications use their default. */
const refusedByErrors: ReadonlySet<FindingKind> = new Set<FindingKind>([
  "syntax",
  "document",
  "too-large",
  "flag",
  "unknown-operator",
  "unknown-variant",
  "extension",
]);

const levels: ReadonlySet<string> = new Set<ValidationLevel>(["strict", "errors", "warn"]);

/** True if a FeatureFlag with this finding is refused. */
export function isRefused({ severity, kind }: Finding, level: ValidationLevel): boolean {
  if (severity !== "error" || level === "warn") return false;
  return level === "strict" || refusedByErrors.has(kind);
}

/** The level for an object: its own annotation, else that of its namespace, else `errors`. A word that is none of the levels is passed over. */
export function validationLevel(ofObject: unknown, ofNamespace: unknown): ValidationLevel {
  for (const value of [ofObject, ofNamespace]) if (isLevel(value)) return value;
  return "errors";
}

/** A sentence about an annotation of an object that is none of the levels; undefined if there is nothing to say. */
export function levelProblem(ofObject: unknown): string | undefined {
  if (ofObject === undefined || isLevel(ofObject)) return undefined;
  const { validation } = buntingAnnotations;
  return `the annotation ${validation} is ${quoted(typeof ofObject === "string" ? ofObject : typeof ofObject)}, and counts for nothing: write strict, errors or warn`;
}

function isLevel(value: unknown): value is ValidationLevel {
  return typeof value === "string" && levels.has(value);
}
