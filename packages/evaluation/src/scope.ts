import type { EvaluationContext } from "./resolution.js";
import { fail } from "./rule-failure.js";
import { isMap, type Value, type ValueMap } from "./value.js";

/** The time of day, for `$flagd.timestamp`; `Date` is one. */
export interface EvaluationClock {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Where the flag's own facts lie in the context. */
export const flagdProperty = "$flagd";

/**
 * How much one evaluation may do: about a step for each item a list operator visits and for each eight characters of text it makes. Far
 * above what a rule needs, and well below what would keep the event loop from its other work: lists within lists over a large context
 * otherwise run for minutes, or until memory ends.
 */
const maxWork = 1 << 21;

/** How often data may be run as a rule within data run as a rule. The engine of flagd has no bound there, and dies of it. */
const maxDataRules = 32;

const noContext: EvaluationContext = {};

/**
 * What one evaluation carries along: the context, the flag's own facts, and how much was done. One scope serves all evaluations of an
 * evaluator, one after the other; nothing may keep it.
 *
 * The flag's facts (`$flagd`) are laid over the context only where a rule asks for the whole of it; reading one of them needs no copy.
 */
export class Scope {
  readonly #clock: EvaluationClock;
  #context = noContext;
  #flagKey = "";
  #flagd: ValueMap | undefined;
  #work = 0;
  #dataRules = 0;
  /** What lies around the list whose items are being visited; see operators/shadowed-variable.ts. */
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

  /** Lets go of the context, which may be large, until the next evaluation. */
  end(): void {
    this.#context = noContext;
    this.outer = null;
  }

  /** True for the context itself, over which `$flagd` lies unseen. */
  isContext(data: Value): boolean {
    return data === this.#context;
  }

  /** The data as a rule sees it when it asks for all of it. */
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

  /** The key of the flag, where the data says it: an item of a list has none, unless it brings its own `$flagd`. */
  flagKey(data: ValueMap): string {
    if (this.isContext(data)) return this.#flagKey;
    const properties = Object.hasOwn(data, flagdProperty) ? (data[flagdProperty] ?? null) : null;
    const key = isMap(properties) ? properties["flagKey"] : undefined;
    return typeof key === "string" ? key : "";
  }

  /** @throws RuleFailure if the evaluation has done more than it may */
  charge(steps: number): void {
    this.#work += steps;
    if (this.#work > maxWork)
      fail("the evaluation takes too long: lists or texts are too large for what the rule does with them");
  }

  /** @throws RuleFailure if data leads to data leads to data … */
  enterDataRule(): void {
    if (++this.#dataRules > maxDataRules) fail("data that is run as a rule leads to itself, or too deep");
  }

  leaveDataRule(): void {
    this.#dataRules--;
  }
}
