/**
 * What can go wrong in the agent.
 *
 * - OPTION_INVALID: an option has a value that can't be used, or a needed one is absent.
 * - SOURCE_UNSUPPORTED: a source is of a kind this agent can't read.
 * - DOCUMENT_INVALID: a source sent something that is no flag document; the one before it is served on.
 * - DOCUMENT_TOO_LARGE: a document needs more memory than there is; the one before it is served on.
 * - BIND_FAILED: a port or socket can't be listened on.
 * - CACHE_INVALID: a last-known-good file can't be used.
 */
export type AgentErrorCode =
  | "OPTION_INVALID"
  | "SOURCE_UNSUPPORTED"
  | "DOCUMENT_INVALID"
  | "DOCUMENT_TOO_LARGE"
  | "BIND_FAILED"
  | "CACHE_INVALID";

/** The one error of this package; the message is a sentence for whoever can do something about it. */
export class AgentError extends Error {
  override readonly name = "AgentError";
  readonly code: AgentErrorCode;

  constructor(code: AgentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
