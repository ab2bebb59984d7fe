import { checkingFeatureFlag, type CheckOptions, type Finding } from "@bunting/featureflags/checks";
import {
  digestingDocument,
  documentOfFeatureFlag,
  ProtocolError,
  type DocumentWork,
  type FlagDocument,
  type JsonObject,
} from "@bunting/protocol";
import { cut } from "@bunting/runtime";
import { hasHugeRule } from "../admission/rule-size.js";
import { annotationOf, maxFindings, ruleTooLarge, sentenceOf } from "../admission/validate-feature-flag.js";
import { isRefused, validationLevel } from "../admission/validation-level.js";

/** What is to be said of a FeatureFlag that is stored. */
export interface FeatureFlagVerdict {
  /** The status of the condition Accepted; Unknown: it can't be checked. */
  readonly accepted: "True" | "False" | "Unknown";
  /** One word for the condition, the event and the metric. */
  readonly reason: string;
  readonly message: string;
  /** How many flags are served. */
  readonly flags: number;
  /** Of the document, as the proxy and agents compute it; undefined if nothing of it is served. */
  readonly digest: string | undefined;
}

/** How many findings a condition names. */
const maxSentences = 3;
const maxMessageCharacters = 1_024;

/**
 * Judges a FeatureFlag, in steps. It is judged by the level at which it would be admitted, but at least by `errors`: `warn` lets flags be stored
 * that are not served, and does not call them good.
 */
export function* judgingFeatureFlag(
  object: JsonObject,
  levelOfNamespace: unknown,
  options: CheckOptions,
): DocumentWork<FeatureFlagVerdict> {
  const document = servedDocument(object);
  yield;
  const digest = document === undefined ? undefined : yield* digestingDocument(document);
  const served = { flags: Object.keys(document?.flags ?? {}).length, digest };
  if (hasHugeRule(object))
    return { accepted: "Unknown", reason: "TooComplex", message: `Not checked: ${ruleTooLarge}.`, ...served };
  const level = validationLevel(annotationOf(object), levelOfNamespace);
  const findings = yield* checkingFeatureFlag(object, { ...options, maxFindings });
  const refused = findings.filter((finding) => isRefused(finding, level === "warn" ? "errors" : level));
  const [first] = refused;
  return first === undefined
    ? { accepted: "True", reason: "Valid", message: acceptance(findings), ...served }
    : { accepted: "False", reason: reasonOf(first.kind), message: refusal(refused), ...served };
}

function acceptance(findings: readonly Finding[]): string {
  const [first, ...others] = findings;
  if (first === undefined) return "The flags are served as they are written.";
  const more = others.length === 0 ? "" : ` (and ${others.length} more: bunting lint shows them)`;
  return cut(`The flags are served; ${sentenceOf(first)}${more}`, maxMessageCharacters);
}

function refusal(findings: readonly Finding[]): string {
  const left = findings.length - maxSentences;
  const more = left <= 0 ? "" : `; and ${left} more: bunting lint shows them all`;
  const sentences = findings.slice(0, maxSentences).map((each) => cut(sentenceOf(each), 300));
  return cut(`${sentences.join("; ")}${more}`, maxMessageCharacters);
}

/** `unknown-variant` as a condition has it: UnknownVariant. */
function reasonOf(kind: Finding["kind"]): string {
  return kind.replace(/(?:^|[-.])(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** As the proxy serves it; undefined if it serves nothing of it. */
function servedDocument(object: JsonObject): FlagDocument | undefined {
  try {
    return documentOfFeatureFlag(object).document;
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}
