/** A walk that is done in steps. */
export interface Pass {
  /** Does one step; false if there was none left to do. */
  step(): boolean;
}

export interface FanOutOptions {
  /** How many steps a turn of the event loop may hold. */
  readonly stepsPerTurn?: number;
  /** Calls back in a later turn of the event loop. */
  readonly nextTurn?: (callback: () => void) => void;
}

/**
 * Does the passes of all topics, and gives the event loop a turn every 256 steps: without it the first subscriber's bytes leave only
 * after the last one was written to, and for so long nobody is accepted or answered. The bound is on all topics together, or 200
 * files that change at once would block for 200 times as long. Passes take turns; there is at most one of a topic under way.
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
    this.#nextTurn = options.nextTurn ?? setImmediate;
    this.#stepsLeft = this.#stepsPerTurn;
  }

  /** Begins a pass: now, as far as this turn has steps left. It must not be due already. */
  begin(pass: Pass): void {
    this.#due.push(pass);
    if (!this.#isStepping) this.#step();
  }

  #beginTurn(): void {
    this.#isTurnAsked = false;
    this.#stepsLeft = this.#stepsPerTurn;
    // The pass that was cut short goes to the end of the row.
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
        if (pass.step()) {
          this.#stepsLeft--;
        } else {
          this.#due.shift();
          pass = this.#due[0];
        }
      }
    } finally {
      // Also if a step threw: whoever's fault it was, no other topic may stand still for it.
      this.#isStepping = false;
      if (!this.#isTurnAsked) {
        this.#isTurnAsked = true;
        this.#nextTurn(this.#onTurn);
      }
    }
  }
}
