/**
 * What can be wrong with words or documents that came from outside.
 *
 * - SELECTOR_INVALID: a selector is not of the form a topic is named by.
 * - DOCUMENT_INVALID: a flag document cannot be served as it is.
 */
export type ProtocolErrorCode = "SELECTOR_INVALID" | "DOCUMENT_INVALID";

export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly code: ProtocolErrorCode;
  /** Where in the document, as keys from its root; empty for a selector. */
  readonly path: readonly string[];

  constructor(
    code: ProtocolErrorCode,
    message: string,
    path: readonly string[] = [],
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
    this.path = path;
  }
}
