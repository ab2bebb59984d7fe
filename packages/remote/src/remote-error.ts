import type { HttpFailure, Remedies } from "@bunting/sync-client/http";
import { cut, singleLine, unexpectedFailure } from "@bunting/runtime";
import type { RemoteFailure } from "./remote-kind.js";

/** What an author of a FeatureFlag can do, as ends of sentences. */
export const remedies: Remedies = {
  unauthorized: `: check the Secret that "credentials" names`,
  forbidden: ": the credentials may not read the flags",
  missing: `: there is nothing at this "uri"`,
  throttled: `: raise the "interval"`,
};

/** Why what a remote sent is no document that can be served. */
export class RemoteDocumentError extends Error {
  override readonly name = "RemoteDocumentError";
}

/** What its FeatureFlag's status says about an error. */
export function failureOf(error: unknown): RemoteFailure {
  const [code, sentence] = codeAndSentence(error);
  return { reason: outcomeReason(code), message: cut(singleLine(sentence)) };
}

function codeAndSentence(error: unknown): readonly [code: string, sentence: string] {
  if (isHttpFailure(error)) return [error.code, error.message];
  if (error instanceof RemoteDocumentError) return ["document_invalid", error.message];
  return unexpectedFailure("the remote could not be read", error);
}

/** `too_large` is TooLarge. */
export function outcomeReason(code: string): string {
  return code
    .split("_")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

/** By its name: what is loaded on first use may have a class of its own. */
export function isHttpFailure(error: unknown): error is HttpFailure {
  return error instanceof Error && error.name === "HttpFailure";
}
