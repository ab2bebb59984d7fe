import { onNextTurn } from "@bunting/runtime";
/** The publishing of one topic to its subscriptions, a step each. */
export interface Pass {
  /** Does one step; false if no step was left. */
  step(): boolean;
}

export interface FanOutOptions {
  /** Steps in one turn of the event loop; 256 if not given. */
  readonly stepsPerTurn?: number;
  /** Calls back in a later turn of the event loop. */
  readonly nextTurn?: (callback: () => void) => void;
}

/**
 * Does the passes of all topics, and yields to the event loop every 256 steps: otherwise the first subscriber's bytes leave only after the
 * last one was written to, and no connection is accepted or answered until then. The limit is on all topics together: 200 files that change
 * at once would block 200 times as long. Passes take turns; a topic has at most one under way.
 */
export class FanOut {
  readonly #stepsPerTurn: number;
  readonly #nextTurn: (callback: () => void) => void;
  /** Unfinished passes; the first is the one being done. */
  readonly #due: Pass[] = [];
  readonly #onTurn = (): void => this.#beginTurn();
  #stepsLeft: number;
  #isTurnAsked = false;
  #isStepping = false;

  constructor(options: FanOutOptions = {}) {
    this.#stepsPerTurn = options.stepsPerTurn ?? 256;
    this.#nextTurn = options.nextTurn ?? onNextTurn;
    this.#stepsLeft = this.#stepsPerTurn;
  }

  /** Begins a pass, at once if this turn has steps left. It must not be under way already. */
  begin(pass: Pass): void {
    this.#due.push(pass);
    if (!this.#isStepping) this.#step();
  }

  /** Begins a pass that does the same with each item. */
  each<Item>(items: readonly Item[], act: (item: Item) => void): void {
    if (items.length === 0) return;
    const walk = items.values();
    const step = (): boolean => {
      const { done, value } = walk.next();
      if (done !== true) act(value);
      return done !== true;
    };
    this.begin({ step });
  }

  /** Does the work, which may begin passes, and no step before the work has ended. */
  hold(work: () => void): void {
    const wasStepping = this.#isStepping;
    this.#isStepping = true;
    try {
      work();
    } finally {
      this.#isStepping = wasStepping;
      if (!wasStepping && this.#due.length > 0) this.#step();
    }
  }

  #beginTurn(): void {
    this.#isTurnAsked = false;
    this.#stepsLeft = this.#stepsPerTurn;
    // The pass that was interrupted goes to the end of the queue.
    const first = this.#due.shift();
    if (first === undefined) return;
    this.#due.push(first);
    this.#step();
  }

  #step(): void {
    this.#isStepping = true;
    try {
      let pass = this.#due[0];
      while (pass !== undefined && this.#stepsLeft > 0) {
        if (pass.step()) this.#stepsLeft--;
        else {
          this.#due.shift();
          pass = this.#due[0];
        }
      }
    } finally {
      // Even if a step has thrown, the passes of other topics go on in the next turn.
      this.#isStepping = false;
      if (!this.#isTurnAsked) {
        this.#isTurnAsked = true;
        this.#nextTurn(this.#onTurn);
      }
    }
  }
}
