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
 * How much work all evaluations of one request may do together, beyond `workPerFlag` for each: about one step for each item that a list
 * operator visits, for each operator and argument of a rule that is run for items, for each eight characters of a text that is compared,
 * and for every second one of a text that is parsed, hashed or built. Far above what rules need, and well below what would block the event
 * loop: nested lists over a large context, or a hundred flags that read a text of 1 MB, would otherwise run for seconds to minutes, or until
 * memory is exhausted.
 */
const maxWork = 1 << 21;

/** The work that each evaluation may do whatever others of the same request did, so that large sets of ordinary rules never meet the limit. */
const workPerFlag = 1 << 10;

/** The work of listing or copying one member of an object. */
const workPerMember = 16;

/**
 * How many bytes of the heap the lists may take that one evaluation makes: it can keep all of them until it ends. V8 takes 48 to 184 bytes for a list of one,
 * and 8 to 12 for each further item.
 */
const maxMadeBytes = 5 << 20;
const bytesPerList = 190;
const bytesPerItem = 10;

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
  /** What the evaluations of the request may still do together. */
  #sharedWork = maxWork;
  /** What the evaluation may still do: its own share, and what is left of the shared work. */
  #workLeft = maxWork;
  #madeBytesLeft = maxMadeBytes;
  /** How many members objects have, which takes V8 as long to count as to list. Each is counted once a request. */
  #memberCounts: WeakMap<ValueMap, number> | undefined;
  #dataRules = 0;
  /** The data around the list whose items are being visited; see operators/shadowed-variable.ts. */
  outer: Value = null;

  constructor(clock: EvaluationClock) {
    this.#clock = clock;
  }

  /** Begins a request: one evaluation or several, which share a context and the work they may do. */
  beginRequest(): void {
    this.#sharedWork = maxWork;
    this.#workLeft = maxWork;
    this.#memberCounts = undefined;
  }

  begin(context: EvaluationContext, flagKey: string): this {
    this.#context = context;
    this.#flagKey = flagKey;
    this.#flagd = undefined;
    this.#workLeft = this.#sharedWork + workPerFlag;
    this.#madeBytesLeft = maxMadeBytes;
    this.#dataRules = 0;
    return this;
  }

  /** Releases the context, which may be large, until the next evaluation. */
  end(): void {
    this.#context = noContext;
    this.outer = null;
    if (this.#workLeft < this.#sharedWork) this.#sharedWork = Math.max(0, this.#workLeft);
  }

  /** True for the context itself, into which `$flagd` is not merged. */
  isContext(data: Value): boolean {
    return data === this.#context;
  }

  /** The data as a rule sees it that reads all of it. */
  whole(data: Value): Value {
    if (!this.isContext(data)) return data;
    this.chargeMembers(this.#context);
    return { ...this.#context, [flagdProperty]: this.flagd() };
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

  /**
   * Charges work before it is done.
   *
   * @throws RuleFailure if the evaluation exceeds its limit
   */
  charge(steps: number): void {
    this.#workLeft -= steps;
    if (this.#workLeft < 0)
      fail("the evaluation takes too long: lists or texts are too large for what the rule does with them");
  }

  /** Charges a list of so many items that is made: a rule of some hundred bytes can make a million of them. */
  chargeMade(items: number): void {
    this.charge(items >> 2);
    this.#madeBytesLeft -= bytesPerList + bytesPerItem * items;
    if (this.#madeBytesLeft < 0)
      fail("the evaluation takes too much memory: it makes too many lists, or too long ones");
  }

  /** Charges a text that is compared, or looked at, by its length: texts come from contexts, and a rule can make them grow fast. */
  chargeText(text: string): void {
    this.charge(text.length >> 3);
  }

  /** Charges a text each of whose characters takes some nanoseconds, or two bytes: it is hashed, parsed as a number or a version, or built. */
  chargeReading(text: string): void {
    this.charge(text.length >> 1);
  }

  /** Charges an object whose members are about to be listed or copied. */
  chargeMembers(object: ValueMap): void {
    this.#memberCounts ??= new WeakMap();
    const count = this.#memberCounts.get(object) ?? Object.keys(object).length;
    this.#memberCounts.set(object, count);
    this.charge(workPerMember * count);
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
