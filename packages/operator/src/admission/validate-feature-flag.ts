import { checkingFeatureFlag, type CheckOptions, type Finding } from "@bunting/featureflags/checks";
import { isJsonObject, type DocumentWork, type JsonObject } from "@bunting/protocol";
import type { Clock } from "@bunting/runtime";
import { buntingAnnotations } from "../api/names.js";
import type { FlagComments } from "../extensions/lint-flags.js";
import { admitted, type AdmissionAnswer, type AdmissionRefusal } from "./admission-answer.js";
import type { Webhook } from "./admission-handler.js";
import type { AdmissionRequest } from "./admission-review.js";
import { fieldPathOf } from "./field-path.js";
import { hasHugeRule, maxRuleValues } from "./rule-size.js";
import { isRefused, levelProblem, validationLevel } from "./validation-level.js";
import { workUntil } from "./work-until.js";

export interface FeatureFlagWebhookOptions {
  /** Maximum size of a document as JSON, in bytes. */
  readonly maxDocumentBytes: number;
  /** The annotation `bunting.dev/validation` of a namespace, from memory. */
  readonly levelOfNamespace: (namespace: string) => string | undefined;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** What extensions have to say, by `untilMs` of the clock; absent: none is asked. */
  readonly comments?: ((request: AdmissionRequest, untilMs: number) => Promise<FlagComments>) | undefined;
}

/** The API server waits for three seconds, and this process may be busy with others. */
const budgetMs = 1_000;
const featureFlagKind = { group: "core.openfeature.dev", version: "v1beta1", kind: "FeatureFlag" } as const;

/**
 * Refuses FeatureFlags that can't be served as they are meant, and warns of everything else that the checks find. An update is refused only for
 * what it adds: an object that is wrong already stays editable, so that it can be mended step by step.
 */
export function featureFlagWebhook(options: FeatureFlagWebhookOptions): Webhook {
  return {
    name: "featureflag",
    kinds: [featureFlagKind],
    review: (request, startedMs) => reviewFeatureFlag(request, startedMs + budgetMs, options),
  };
}

async function reviewFeatureFlag(
  request: AdmissionRequest,
  untilMs: number,
  { clock, ...options }: FeatureFlagWebhookOptions,
): Promise<AdmissionAnswer> {
  const { operation, subResource, object, oldObject, namespace } = request;
  const isWrite = operation === "CREATE" || operation === "UPDATE";
  if (!isWrite || subResource !== "" || object === undefined) return admitted;
  const ofObject = annotationOf(object);
  const level = validationLevel(ofObject, options.levelOfNamespace(namespace));
  const problem = levelProblem(ofObject);
  const first = problem === undefined ? [] : [problem];
  if (hasHugeRule(object)) return { isAllowed: true, warnings: [...first, ruleTooLarge] };
  const work = checking(object, oldObject, (finding) => isRefused(finding, level), options);
  const checked = await workUntil(work, untilMs, clock);
  if (checked === undefined) return { isAllowed: true, warnings: [...first, notInTime] };
  const comments = (await options.comments?.(request, untilMs)) ?? noComments;
  const unwanted = comments.findings.filter((finding) => isRefused(finding, level));
  const refused = [...checked.refused, ...unwanted];
  const others = [...checked.others, ...comments.findings.filter((finding) => !unwanted.includes(finding))];
  const warnings = [...first, ...others.map(sentenceOf), ...comments.remarks];
  return refused.length === 0
    ? { isAllowed: true, warnings }
    : { isAllowed: false, warnings, refusal: refusalOf(refused) };
}

const noComments: FlagComments = { findings: [], remarks: [] };

const notInTime =
  "there are too many flags to check them in a second: they are checked afterwards, and the condition Accepted will say what is wrong";

/** A sentence about flags that nobody checks. */
export const ruleTooLarge = `the rule of a flag, or all evaluators together, have more than ${maxRuleValues} values, and are not checked: write a shorter rule`;

interface CheckedFlags {
  /** Findings for which it is refused. */
  readonly refused: readonly Finding[];
  readonly others: readonly Finding[];
}

/** Checks an object, and where it is wrong, the one before: what that had already is no reason to refuse. */
function* checking(
  object: JsonObject,
  oldObject: JsonObject | undefined,
  isWrong: (finding: Finding) => boolean,
  options: CheckOptions,
): DocumentWork<CheckedFlags> {
  const findings = yield* checkingFeatureFlag(object, { ...options, maxFindings });
  // What can't be compared is not refused: it may be the mending of an incident.
  const wrong = oldObject !== undefined && hasHugeRule(oldObject) ? [] : findings.filter(isWrong);
  const before =
    oldObject === undefined || wrong.length === 0
      ? []
      : yield* checkingFeatureFlag(oldObject, { ...options, maxFindings: 10 * maxFindings });
  const known = new Set(before.map(identityOf));
  const refused = new Set(wrong.filter((finding) => !known.has(identityOf(finding))));
  return { refused: [...refused], others: findings.filter((finding) => !refused.has(finding)) };
}

/** What makes two findings the same: not the place, which moves when a rule is edited, and not the size of a document that is too large. */
function identityOf({ kind, flag, message }: Finding): string {
  return kind === "too-large" ? kind : JSON.stringify([kind, flag, message]);
}

/** The refusal of an object for these findings. */
export function refusalOf(findings: readonly PlacedSentence[]): AdmissionRefusal {
  const causes = findings.map(({ path, message }) => ({ field: fieldPathOf(path), message }));
  const shown = findings.slice(0, maxSentences).map(sentenceOf);
  const left = findings.length - shown.length;
  const more = left === 0 ? "" : `; and ${left} more: bunting lint shows them all`;
  return { message: `${shown.join("; ")}${more}`, causes };
}

const maxSentences = 10;
/** More of them are not looked for: who reads ten sentences begins with these. */
export const maxFindings = 1_000;

/** A sentence about a field of an object. */
export type PlacedSentence = Pick<Finding, "path" | "message">;

/** With its place. */
export function sentenceOf({ path, message }: PlacedSentence): string {
  return path.length === 0 ? message : `${fieldPathOf(path)}: ${message}`;
}

/** The annotation `bunting.dev/validation` of an object. */
export function annotationOf({ metadata = null }: JsonObject): unknown {
  const annotations = isJsonObject(metadata) ? (metadata["annotations"] ?? null) : null;
  return isJsonObject(annotations) ? annotations[buntingAnnotations.validation] : undefined;
}
