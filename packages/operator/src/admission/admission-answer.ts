import { cut, singleLine } from "@bunting/runtime";

/** An answer to a review. */
export interface AdmissionAnswer {
  readonly isAllowed: boolean;
  /** Sentences for whoever sent the object; kubectl shows them. */
  readonly warnings?: readonly string[];
  /** Operations of a JSON patch. */
  readonly patch?: readonly object[];
  /** Why it is refused. */
  readonly refusal?: AdmissionRefusal;
}

export interface AdmissionRefusal {
  readonly message: string;
  /** The fields that are wrong. */
  readonly causes?: readonly { readonly field: string; readonly message: string }[];
}

/** kubectl prints each as a line, and the API server cuts longer ones, or drops them all if they are too many. */
const maxWarnings = 10;
const maxWarningCharacters = 256;
const maxCauses = 32;
const maxMessageCharacters = 4_096;

export const admitted: AdmissionAnswer = { isAllowed: true };

/** The review that answers the request of this uid. */
export function answerReview(uid: string, answer: AdmissionAnswer): object {
  const { isAllowed, warnings = [], patch = [], refusal } = answer;
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: {
      uid,
      allowed: isAllowed,
      ...(warnings.length === 0 ? {} : { warnings: presentable(warnings) }),
      ...(patch.length === 0
        ? {}
        : { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") }),
      ...(refusal === undefined ? {} : { status: statusOf(refusal) }),
    },
  };
}

function statusOf({ message, causes = [] }: AdmissionRefusal): object {
  return {
    status: "Failure",
    code: 422,
    reason: "Invalid",
    message: cut(message, maxMessageCharacters),
    ...(causes.length === 0
      ? {}
      : {
          details: {
            causes: causes.slice(0, maxCauses).map(({ field, message: cause }) => ({
              reason: "FieldValueInvalid",
              field,
              message: cut(singleLine(cause), maxWarningCharacters),
            })),
          },
        }),
  };
}

/** At most ten, of which the last says how many are left out. */
function presentable(warnings: readonly string[]): readonly string[] {
  const shown = warnings.length <= maxWarnings ? warnings : warnings.slice(0, maxWarnings - 1);
  const left = warnings.length - shown.length;
  const lines = shown.map((warning) => cut(singleLine(warning), maxWarningCharacters));
  return left === 0 ? lines : [...lines, `and ${left} more: bunting lint shows them all`];
}
