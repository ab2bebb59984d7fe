/** What can be wrong with a flag, its document, or the selector of flags. */
export type FlagErrorCode =
  | "FLAG_INVALID" // the flag can't be served; the other flags of its document can.
  | "DOCUMENT_INVALID" // the value is not a flag document.
  | "SELECTOR_INVALID"; // a client's selector names a property that flags can't be selected by.

/** The one error of this package. Its message says what is wrong with the flag or the selector. */
export class FlagError extends Error {
  override readonly name = "FlagError";
  readonly code: FlagErrorCode;

  constructor(code: FlagErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
