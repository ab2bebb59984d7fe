/**
 * A rule can't be evaluated with the values that it got. The evaluation answers PARSE_ERROR, as flagd does where its engine panics; the
 * message says which operator failed and why.
 *
 * It has no stack trace: taking one would cost more than the evaluation, and the error is in the rule, not in our code.
 */
export class RuleFailure extends Error {
  override readonly name = "RuleFailure";

  private constructor(message: string) {
    super(message);
  }

  static of(message: string): RuleFailure {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return new RuleFailure(message);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  }
}

/** @throws RuleFailure always */
export function fail(message: string): never {
  throw RuleFailure.of(message);
}
