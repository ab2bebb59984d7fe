import { compile } from "./compile.js";
import { ruleOf, type Flag } from "./flag.js";
import { RuleFailure } from "./rule-failure.js";

/**
 * The problems of a flag's targeting rule that show without an evaluation: unknown operators, references that lead nowhere, and nesting
 * that is too deep. As in flagd, such a flag is served; its evaluation answers PARSE_ERROR only where it reaches the problem.
 *
 * Not seen are the arguments of an unknown operator, and rules for the items of a list that depend on each item's values.
 */
export function checkTargeting(flag: Flag): readonly string[] {
  return targetingProblems(flag).map(({ message }) => message);
}

/** A problem of a targeting rule. */
export interface TargetingProblem {
  readonly message: string;
  /** The operator that does not exist, if that is the problem; `$ref` for a reference that leads nowhere. */
  readonly operator: string | undefined;
}

/** As `checkTargeting`, for programs that point at the place. */
export function targetingProblems(flag: Flag): readonly TargetingProblem[] {
  const unknown = new Set<string>();
  try {
    compile(ruleOf(flag) ?? null, { onUnknown: (name) => unknown.add(name) });
  } catch (error) {
    if (error instanceof RuleFailure) return [{ message: error.message, operator: undefined }];
    throw error;
  }
  return [...unknown].map((operator) => {
    const message =
      operator === "$ref"
        ? 'a "$ref" leads to no evaluator'
        : `there is no operator ${JSON.stringify(operator)}`;
    return { message, operator };
  });
}
