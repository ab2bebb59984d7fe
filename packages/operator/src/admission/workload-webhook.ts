import {
  isInlineKind,
  inlineFlagsOf,
  inlineKinds,
  maxInlineNameLength,
} from "@bunting/featureflags/resources";
import type { JsonObject } from "@bunting/protocol";
import type { Clock } from "@bunting/runtime";
import { withInlineTemplate, workloadMetadata } from "../pod/inline-template.js";
import { objectPatch } from "../pod/patch.js";
import { admitted, type AdmissionAnswer } from "./admission-answer.js";
import type { Webhook } from "./admission-handler.js";
import type { AdmissionRequest } from "./admission-review.js";
import { checkingInlineFlags, readInlineFlags } from "./inline-flags.js";
import { maxFindings } from "./validate-feature-flag.js";
import { isRefused, validationLevel } from "./validation-level.js";
import { workUntil } from "./work-until.js";

export interface WorkloadWebhookOptions {
  /** Maximum size of a document as JSON, in bytes. */
  readonly maxDocumentBytes: number;
  /** The annotation `bunting.dev/validation` of a namespace, from memory. */
  readonly levelOfNamespace: (namespace: string) => string | undefined;
  readonly clock: Pick<Clock, "monotonicMs">;
}

/** The API server waits for three seconds. */
const budgetMs = 1_000;

/**
 * Refuses workloads whose own flags can't be served, and has the Pod template of the others name their FeatureFlag, where no policy of the API server
 * did. Flags that are as they were are not judged: such a workload stays editable.
 */
export function workloadWebhook(options: WorkloadWebhookOptions): Webhook {
  const kinds = Object.entries(inlineKinds).map(([kind, { group, version }]) => ({ group, version, kind }));
  return {
    name: "workload",
    kinds,
    review: (request, startedMs) => reviewWorkload(request, startedMs + budgetMs, options),
  };
}

async function reviewWorkload(
  request: AdmissionRequest,
  untilMs: number,
  options: WorkloadWebhookOptions,
): Promise<AdmissionAnswer> {
  const { operation, subResource, kind, object, oldObject } = request;
  const isWrite = operation === "CREATE" || operation === "UPDATE";
  if (!isWrite || subResource !== "" || object === undefined || !isInlineKind(kind.kind)) return admitted;
  const given = inlineFlagsOf(workloadMetadata(object).annotations);
  const before = oldObject === undefined ? undefined : inlineFlagsOf(workloadMetadata(oldObject).annotations);
  const answer =
    given === undefined || given.text === before?.text
      ? admitted
      : await judge(given, request.namespace, untilMs, options);
  if (!answer.isAllowed) return answer;
  // The template of a Job can't be changed.
  if (operation === "UPDATE" && kind.kind === "Job") return answer;
  const warnings = [...(answer.warnings ?? []), ...(given === undefined ? [] : nameWarnings(object))];
  const patch = objectPatch(object, withInlineTemplate(kind.kind, object));
  return { ...answer, warnings, patch };
}

async function judge(
  { annotation, text }: { readonly annotation: string; readonly text: string },
  namespace: string,
  untilMs: number,
  { maxDocumentBytes, levelOfNamespace, clock }: WorkloadWebhookOptions,
): Promise<AdmissionAnswer> {
  const level = validationLevel(undefined, levelOfNamespace(namespace));
  const flags = await readInlineFlags(text);
  const field = `metadata.annotations[${annotation}]`;
  if ("problem" in flags) {
    const message = `${field}: ${flags.problem}`;
    if (level === "warn") return { isAllowed: true, warnings: [message] };
    return { isAllowed: false, refusal: { message, causes: [{ field, message: flags.problem }] } };
  }
  const findings = await workUntil(
    checkingInlineFlags(flags, { maxDocumentBytes, maxFindings }),
    untilMs,
    clock,
  );
  if (findings === undefined)
    return { isAllowed: true, warnings: [`${field}: there are too many flags to check them in a second`] };
  const sentences = findings.map((finding) => ({
    isError: isRefused(finding, level),
    message: `${flags.placeOf(finding.path)}: ${finding.message}`,
  }));
  const warnings = sentences.filter(({ isError }) => !isError).map(({ message }) => `${field}: ${message}`);
  const refused = sentences.filter(({ isError }) => isError);
  const [first] = refused;
  if (first === undefined) return { isAllowed: true, warnings };
  const more = refused.length === 1 ? "" : `; and ${refused.length - 1} more`;
  const causes = refused.map(({ message }) => ({ field, message }));
  return { isAllowed: false, warnings, refusal: { message: `${field}: ${first.message}${more}`, causes } };
}

function nameWarnings(workload: JsonObject): readonly string[] {
  const { name } = workloadMetadata(workload);
  if (name === "")
    return [
      "a workload without a name of its own, by generateName, gets no flags of its own: give it a name",
    ];
  return name.length <= maxInlineNameLength
    ? []
    : [`a workload whose name has more than ${maxInlineNameLength} characters gets no flags of its own`];
}
