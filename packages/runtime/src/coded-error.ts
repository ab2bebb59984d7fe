/** Chunks of a bundle have copies of this class, for which `instanceof` says no. */
const mark = Symbol.for("bunting.CodedError");

/**
 * An error that callers tell apart by its code, one of a closed set for each package. Its message is a sentence for whoever can do something
 * about it, so it is shown without a stack.
 */
export abstract class CodedError<Code extends string = string> extends Error {
  abstract override readonly name: string;
  readonly code: Code;
  readonly [mark] = true;

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function isCodedError(error: unknown): error is CodedError {
  return error instanceof Error && mark in error;
}
