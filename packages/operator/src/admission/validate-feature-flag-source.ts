import type { FeatureFlagSourceSpec } from "@bunting/featureflags/resources";
import { isJsonObject, type JsonObject } from "@bunting/protocol";
import { admitted, type AdmissionAnswer } from "./admission-answer.js";
import type { Webhook } from "./admission-handler.js";
import type { AdmissionRequest } from "./admission-review.js";
import {
  checkFeatureFlagSource,
  type SourceFinding,
  type SourceReader,
} from "./check-feature-flag-source.js";
import { refusalOf, sentenceOf } from "./validate-feature-flag.js";

const sourceKind = { group: "core.openfeature.dev", version: "v1beta1", kind: "FeatureFlagSource" } as const;

/** Refuses FeatureFlagSources with which no Pod could start, as far as their definition can't; updates only for what they add. */
export function featureFlagSourceWebhook(reader: SourceReader): Webhook {
  return {
    name: "featureflagsource",
    kinds: [sourceKind],
    review: (request) => reviewSource(request, reader),
  };
}

/** The answer to a review of a FeatureFlagSource. */
export function reviewSource(
  { operation, subResource, object, oldObject }: AdmissionRequest,
  reader: SourceReader = {},
): AdmissionAnswer {
  const isWrite = operation === "CREATE" || operation === "UPDATE";
  if (!isWrite || subResource !== "" || object === undefined) return admitted;
  const findings = findingsOf(object, reader);
  const before = new Set(
    oldObject === undefined ? [] : findingsOf(oldObject, reader).map(({ message }) => message),
  );
  const isNewError = ({ severity, message }: SourceFinding): boolean =>
    severity === "error" && !before.has(message);
  const refused = findings.filter(isNewError);
  const warnings = findings.filter((finding) => !isNewError(finding)).map(sentenceOf);
  return refused.length === 0
    ? { isAllowed: true, warnings }
    : { isAllowed: false, warnings, refusal: refusalOf(refused) };
}

/** Nothing of an object whose form is not that of the type: its definition sees to that. */
function findingsOf({ spec = null }: JsonObject, reader: SourceReader): readonly SourceFinding[] {
  if (!isJsonObject(spec) || !Array.isArray(spec["sources"])) return [];
  return checkFeatureFlagSource(spec as unknown as FeatureFlagSourceSpec, reader);
}
