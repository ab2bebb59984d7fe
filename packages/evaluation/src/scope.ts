import type { EvaluationContext } from "./resolution.js";
import { fail } from "./rule-failure.js";
import { isMap, type Value, type ValueMap } from "./value.js";

/** The time of day, for `$flagd.timestamp`; `Date` is one. */
export interface EvaluationClock {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** The property of the context that holds the flag's key and the time. */
export const flagdProperty = "$flagd";

/**
 * How much work one evaluation may do: about one step for each item that a list operator visits, for each operator and argument of a rule
 * that is run for items, and for each eight characters of a text that is built or read. Far above what a rule needs, and well below what would block the event loop: nested lists over a large context would otherwise
 * run for minutes, or until memory is exhausted.
 */
const maxWork = 1 << 21;

/** How deep data that is run as a rule may be nested. The engine of flagd has no such limit, and crashes. */
const maxDataRules = 32;

const noContext: EvaluationContext = {};

/**
 * The state of one evaluation: the context, the flag's `$flagd` properties, and the work done. One scope serves all evaluations of an
 * evaluator, one after the other; nothing may keep it.
 *
 * `$flagd` is merged into the context only where a rule reads the whole context; reading one of its properties needs no copy.
 */
export class Scope {
  readonly #clock: EvaluationClock;
  #context = noContext;
  #flagKey = "";
  #flagd: ValueMap | undefined;
  #work = 0;
  #dataRules = 0;
  /** The data around the list whose items are being visited; see operators/shadowed-variable.ts. */
  outer: Value = null;

  constructor(clock: EvaluationClock) {
    this.#clock = clock;
  }

  begin(context: EvaluationContext, flagKey: string): this {
    this.#context = context;
    this.#flagKey = flagKey;
    this.#flagd = undefined;
    this.#work = 0;
    this.#dataRules = 0;
    return this;
  }

  /** Releases the context, which may be large, until the next evaluation. */
  end(): void {
    this.#context = noContext;
    this.outer = null;
  }

  /** True for the context itself, into which `$flagd` is not merged. */
  isContext(data: Value): boolean {
    return data === this.#context;
  }

  /** The data as a rule sees it that reads all of it. */
  whole(data: Value): Value {
    return this.isContext(data) ? { ...this.#context, [flagdProperty]: this.flagd() } : data;
  }

  get contextFlagKey(): string {
    return this.#flagKey;
  }

  flagd(): ValueMap {
    this.#flagd ??= { flagKey: this.#flagKey, timestamp: Math.floor(this.#clock.now() / 1000) };
    return this.#flagd;
  }

  /** The key of the flag as the data has it: an item of a list has none, unless it has its own `$flagd`. */
  flagKey(data: ValueMap): string {
    if (this.isContext(data)) return this.#flagKey;
    const properties = Object.hasOwn(data, flagdProperty) ? (data[flagdProperty] ?? null) : null;
    const key = isMap(properties) ? properties["flagKey"] : undefined;
    return typeof key === "string" ? key : "";
  }

  /** @throws RuleFailure if the evaluation exceeds its limit */
  charge(steps: number): void {
    this.#work += steps;
    if (this.#work > maxWork)
      fail("the evaluation takes too long: lists or texts are too large for what the rule does with them");
  }

  /** @throws RuleFailure if data that is run as a rule is nested too deep */
  enterDataRule(): void {
    if (++this.#dataRules > maxDataRules)
      fail("data that is run as a rule contains itself, or is nested too deep");
  }

  leaveDataRule(): void {
    this.#dataRules--;
  }
}
