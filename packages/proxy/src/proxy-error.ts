import { CodedError } from "@bunting/runtime";

export type ProxyErrorCode =
  | "OPTION_INVALID" // an option has an invalid value, or a required one is missing.
  | "PORT_UNUSABLE" // a port can't be listened on.
  | "SOURCE_UNREADABLE" // a source can't be read for now; its last documents are still served.
  | "SOURCE_REFUSED" // a source does not accept who the proxy is, or does not let it read; its last documents are still served.
  | "SOURCE_MISCONFIGURED" // a source has nothing of the kind that it is asked for; its last documents are still served.
  | "REMOTE_UNREADABLE" // a remote flag provider can't be read for now; its last document is still served.
  | "DOCUMENT_INVALID" // a document can't be served; the version before it is still served.
  | "DOCUMENT_CROWDED_OUT" // there is no memory for a document beside the others; the version before it is still served.
  | "TOPIC_MISSING" // the FeatureFlag does not exist, and the caller does not wait for it (any longer).
  | "TOPIC_DELETED" // the FeatureFlag was deleted, and the deletion policy ends its subscribers.
  | "LIMIT_REACHED" // a peer has reached a limit; it may try again later.
  | "CALLER_GONE" // the caller that waited for a response is gone.
  | "UNAUTHENTICATED" // the caller presents no credentials, or they are not (or no longer) accepted.
  | "PERMISSION_DENIED" // the caller may not read that topic.
  | "ACCESS_UNDECIDED" // the caller can't be authenticated or authorized for now; it may try again later.
  | "SHUTTING_DOWN"; // the proxy accepts no new subscribers.

/** Text of a log line about a version that was refused with DOCUMENT_CROWDED_OUT. */
export const crowdedOutText =
  "a version of a FeatureFlag is not served, for want of memory; the one before, if any, still is";

/** The only error class of this package. The message says what to do about it, where something can be done. */
export class ProxyError extends CodedError<ProxyErrorCode> {
  override readonly name = "ProxyError";

  static optionInvalid(message: string, options?: ErrorOptions): ProxyError {
    return new ProxyError("OPTION_INVALID", message, options);
  }
}

/** It was refused with DOCUMENT_CROWDED_OUT, and may be served later. */
export function isCrowdedOut(error: unknown): boolean {
  return error instanceof ProxyError && error.code === "DOCUMENT_CROWDED_OUT";
}
