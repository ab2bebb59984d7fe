/**
 * A rule that can't be carried through with the values it met. The evaluation answers PARSE_ERROR, as flagd does where its engine
 * panics; whoever debugs a flag reads the message.
 *
 * Without a stack trace: that would cost more than the evaluation, and the rule, not our code, is at fault.
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
