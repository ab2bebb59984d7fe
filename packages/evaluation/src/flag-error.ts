/**
 * What can be wrong with a flag.
 *
 * - FLAG_INVALID: its definition can't be served; the other flags of its document can.
 */
export type FlagErrorCode = "FLAG_INVALID";

/** The one error of this package; the message is a sentence for whoever wrote the flag. */
export class FlagError extends Error {
  override readonly name = "FlagError";
  readonly code: FlagErrorCode;

  constructor(code: FlagErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
