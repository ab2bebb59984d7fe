import type { JsonObject, JsonValue } from "@bunting/protocol";
import { CompiledFlag } from "./compiled-flag.js";
import { compile } from "./compile.js";
import { ruleOf, type Flag } from "./flag.js";
import type { Evaluate } from "./operators/operator.js";
import { mustReplace } from "./operators/shadowed-variable.js";
import type { EvaluationContext, Resolution } from "./resolution.js";
import { RuleFailure } from "./rule-failure.js";
import { Scope, type EvaluationClock } from "./scope.js";
import { isTruthy } from "./truthiness.js";
import { isList, type Value, type ValueMap } from "./value.js";

/** An operator that an evaluation reached, with those that it evaluated in turn. */
export interface RuleStep {
  readonly operator: string;
  /** As they stand in the rule, with references replaced. */
  readonly args: JsonValue;
  /** Undefined if it failed. */
  readonly result: JsonValue | undefined;
  /** Why it failed. */
  readonly error: string | undefined;
  /** The evaluator of `$evaluators` that it is the rule of. */
  readonly evaluator: string | undefined;
  /** Of `if`: the index of the argument that became the result; undefined if none did. */
  readonly branch: number | undefined;
  readonly steps: readonly RuleStep[];
}

/** How an evaluation came to its answer. */
export interface Explanation {
  readonly resolution: Resolution;
  /** Why the answer is an error. */
  readonly failure: string | undefined;
  /** What the rule gave; undefined if there is none or it failed. */
  readonly result: JsonValue | undefined;
  /** The operators of the rule, from the outermost; empty if it is no operator. */
  readonly steps: readonly RuleStep[];
  /** False if there were more steps than are kept. */
  readonly isComplete: boolean;
}

export interface ExplainOptions {
  /** Default: the clock of the system. */
  readonly clock?: EvaluationClock;
  /** Those that the flag was parsed with, so that steps name them. */
  readonly evaluators?: JsonObject;
}

/** More are evaluated but not kept: a rule may visit every item of a large list. */
const maxSteps = 1_000;

/** Evaluates a flag as `Evaluator` does, and records how the rule came to its result. It never throws. */
export function explain(
  flag: Flag,
  context: EvaluationContext,
  { clock = Date, evaluators = {} }: ExplainOptions = {},
): Explanation {
  const recorder = new StepRecorder(evaluators);
  let result: Value | undefined;
  let failure: string | undefined;
  const scope = new Scope(clock);
  scope.beginRequest();
  const resolution = observed(flag, recorder, (given) => (result = given)).resolve(
    context,
    scope,
    (_, error) => (failure = messageOf(error)),
  );
  if (resolution.errorCode === "GENERAL") failure = "the result of the rule is the name of no variant";
  const { steps, isComplete } = recorder;
  return {
    resolution,
    failure,
    result: result === undefined ? undefined : jsonOf(result),
    steps,
    isComplete,
  };
}

function observed(flag: Flag, recorder: StepRecorder, onResult: (result: Value) => void): CompiledFlag {
  try {
    const rule = compile(ruleOf(flag) ?? null, { wrap: recorder.wrap });
    return CompiledFlag.withRule(flag, (data, scope) => {
      const result = rule(data, scope);
      onResult(result);
      return result;
    });
  } catch (error) {
    // Too deep: the evaluation fails for the same reason.
    if (error instanceof RuleFailure) return new CompiledFlag(flag);
    throw error;
  }
}

interface OpenStep {
  readonly rule: ValueMap | undefined;
  readonly steps: (RuleStep & { readonly rule: ValueMap })[];
}

class StepRecorder {
  readonly #names: ReadonlyMap<JsonValue, string>;
  readonly #root: OpenStep = { rule: undefined, steps: [] };
  #open = this.#root;
  #count = 0;

  constructor(evaluators: JsonObject) {
    this.#names = new Map(Object.entries(evaluators).map(([name, rule]) => [rule, name]));
  }

  get steps(): readonly RuleStep[] {
    return this.#root.steps;
  }

  get isComplete(): boolean {
    return this.#count <= maxSteps;
  }

  readonly wrap = (operator: string, rule: ValueMap, evaluate: Evaluate): Evaluate => {
    return (data, scope) => {
      if (++this.#count > maxSteps) return evaluate(data, scope);
      const around = this.#open;
      const open: OpenStep = (this.#open = { rule, steps: [] });
      const close = (result: Value | undefined, error: string | undefined): void => {
        const args = rule[operator] ?? null;
        const isConditional = operator === "if" || operator === "?:";
        around.steps.push({
          operator,
          rule,
          args: jsonOf(args),
          result: result === undefined ? undefined : jsonOf(result),
          error,
          evaluator: this.#names.get(rule as JsonValue),
          branch: isConditional && result !== undefined ? branchOf(args, open) : undefined,
          steps: open.steps,
        });
      };
      try {
        const result = evaluate(data, scope);
        close(result, undefined);
        return result;
      } catch (error) {
        // Not a failure: the list operator around it evaluates its items again, with their variables replaced.
        if (error !== mustReplace) close(undefined, messageOf(error));
        throw error;
      } finally {
        this.#open = around;
      }
    };
  };
}

/** Which argument of an `if` became its result: that after the first condition that is true, else the last. */
function branchOf(args: Value, { steps }: OpenStep): number | undefined {
  if (!isList(args)) return undefined;
  const last = args.length - 1;
  let from = 0;
  let index = 0;
  for (; index < last; index += 2) {
    const condition = args[index] ?? null;
    const at = steps.findIndex(({ rule }, place) => place >= from && rule === condition);
    if (at >= 0) from = at + 1;
    if (isTruthy(at < 0 ? condition : (steps[at]?.result ?? null))) return index + 1;
  }
  return index === last ? index : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The value as JSON: the integer that operators make, a bigint (see Value), becomes a number. */
function jsonOf(value: Value): JsonValue {
  if (typeof value === "bigint") return Number(value);
  if (isList(value)) return value.some(holdsInteger) ? value.map(jsonOf) : (value as JsonValue);
  return value as JsonValue;
}

function holdsInteger(value: Value): boolean {
  return typeof value === "bigint" || (isList(value) && value.some(holdsInteger));
}
