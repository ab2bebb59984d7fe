/** What can be wrong with selectors and documents from outside. */
export type ProtocolErrorCode =
  | "SELECTOR_INVALID" // a selector does not have the form that names a topic.
  | "DOCUMENT_INVALID"; // a flag document cannot be served as it is.

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
