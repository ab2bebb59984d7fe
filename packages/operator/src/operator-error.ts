import { CodedError } from "@bunting/runtime";

/** The errors of the operator. */
export type OperatorErrorCode =
  | "OPTION_INVALID" // an option has an invalid value, or a required one is missing.
  | "PORT_UNUSABLE" // a port can't be listened on.
  | "EXTENSION_REFUSED" // an extension refuses an object.
  | "EXTENSION_FAILED"; // an extension has failed without which an object is not made.

/** The only error class of this package. The message says what to do about it, where something can be done. */
export class OperatorError extends CodedError<OperatorErrorCode> {
  override readonly name = "OperatorError";
}
