/**
 * What can go wrong in the proxy.
 *
 * - OPTION_INVALID: an option has a value that can't be used, or a needed one is absent.
 * - PORT_UNUSABLE: a port can't be listened on.
 * - SOURCE_UNREADABLE: a source can't be read for now; what it told last still stands.
 * - SOURCE_CONFLICT: two places of a source claim the same FeatureFlag; the one already served stays.
 * - DOCUMENT_INVALID: a document can't be served; the one before it still stands.
 * - TOPIC_MISSING: the FeatureFlag does not exist, and the caller does not wait for it (any longer).
 * - TOPIC_DELETED: the FeatureFlag was deleted, and the deletion policy ends its subscribers.
 * - LIMIT_REACHED: a peer has as much as one may have of something; it may try again later.
 * - CALLER_GONE: whoever waited for an answer went away.
 * - SHUTTING_DOWN: the proxy takes no new subscriber any more.
 */
export type ProxyErrorCode =
  | "OPTION_INVALID"
  | "PORT_UNUSABLE"
  | "SOURCE_UNREADABLE"
  | "SOURCE_CONFLICT"
  | "DOCUMENT_INVALID"
  | "TOPIC_MISSING"
  | "TOPIC_DELETED"
  | "LIMIT_REACHED"
  | "CALLER_GONE"
  | "SHUTTING_DOWN";

/** The one error of this package; the message is a sentence for whoever can do something about it. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
  readonly code: ProxyErrorCode;

  constructor(code: ProxyErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
