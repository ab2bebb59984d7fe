import { KubeError } from "@bunting/kube";
import { cut, messageOf } from "@bunting/runtime";
import type { TextOutcome } from "../../desired/injection.js";
import { storedEntryOf, type InjectionRequest, type StoredSpec } from "../../pod/injection-request.js";
import type { SourceProblem } from "../../sources/source-problem.js";

/** True if API servers refuse what they are sent, for a quota or a policy for instance: it is refused until somebody changes something. */
export function isRefusal(error: unknown): error is KubeError {
  return error instanceof KubeError && (error.code === "FORBIDDEN" || error.code === "INVALID");
}

/**
 * What became of a text whose Injections could not be written: Pods get for it what is stored, if that is anything.
 *
 * @param stored the Injections that are there
 */
export function unwrittenOutcome(
  outcome: TextOutcome,
  request: InjectionRequest,
  { stored, error }: { readonly stored: readonly StoredSpec[]; readonly error: KubeError },
): TextOutcome {
  const entry = storedEntryOf(stored, request);
  if (entry?.digest === outcome.entry?.digest) return outcome;
  const served =
    entry === undefined ? "Pods get what the webhook has for them" : "Pods get what was written before";
  const problem: SourceProblem = {
    reason: "NotWritten",
    message: `the Injection of the namespace could not be written, so ${served}: ${cut(messageOf(error))}`,
  };
  return { ...outcome, entry, problems: [...outcome.problems, problem] };
}
