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
  const unknown = new Set<string>();
  try {
    compile(ruleOf(flag) ?? null, (name) => unknown.add(name));
  } catch (error) {
    if (error instanceof RuleFailure) return [error.message];
    throw error;
  }
  return [...unknown].map((name) =>
    name === "$ref" ? 'a "$ref" leads to no evaluator' : `there is no operator ${JSON.stringify(name)}`,
  );
}
