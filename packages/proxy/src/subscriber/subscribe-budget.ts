import { systemClock, type Clock } from "@bunting/runtime";

/** A stream whose requests wait for their turn. */
export interface Requester {
  /** Handles its next request. False if none is left, or it can't take one now; it enters again when it has some. */
  handleNext(): boolean;
}

export interface SubscribeBudgetOptions {
  /** Requests in one turn of the event loop; 64 if not given. */
  readonly perTurn?: number;
  readonly clock?: Clock;
}

/** The time that a turn may take. */
const maxTurnMs = 5;
/** The longest time between two turns. */
const maxRestMs = 50;

/**
 * Limits how many subscribes are handled in one turn of the event loop, of all agents together: each may open a watch, and some thousand fit
 * into a single read of a socket. Streams with more requests than that are not read until theirs are handled, and take turns. After a turn,
 * as much time is left to all else as it has taken.
 */
export class SubscribeBudget {
  readonly #perTurn: number;
  readonly #clock: Clock;
  readonly #queue = new Set<Requester>();
  #left: number;
  #isTurnAsked = false;

  constructor({ perTurn = 64, clock = systemClock }: SubscribeBudgetOptions = {}) {
    this.#perTurn = perTurn;
    this.#clock = clock;
    this.#left = perTurn;
  }

  /** True if a request may be handled at once; else its stream has to `enter`. */
  take(): boolean {
    if (this.#left === 0 || this.#queue.size > 0) return false;
    this.#left--;
    this.#askForTurn();
    return true;
  }

  /** The stream has requests that wait. */
  enter(requester: Requester): void {
    this.#queue.add(requester);
    this.#askForTurn();
  }

  /** The stream has ended. */
  leave(requester: Requester): void {
    this.#queue.delete(requester);
  }

  #askForTurn(afterMs = 0): void {
    if (this.#isTurnAsked) return;
    this.#isTurnAsked = true;
    this.#clock.after(afterMs, () => this.#beginTurn());
  }

  #beginTurn(): void {
    this.#isTurnAsked = false;
    this.#left = this.#perTurn;
    if (this.#queue.size === 0) return;
    const sinceMs = this.#clock.monotonicMs();
    // A requester that is added again at the end is reached again.
    for (const requester of this.#queue) {
      if (this.#left === 0 || this.#clock.monotonicMs() - sinceMs > maxTurnMs) break;
      this.#left--;
      this.#queue.delete(requester);
      if (requester.handleNext()) this.#queue.add(requester);
    }
    if (this.#queue.size > 0) this.#askForTurn(Math.min(this.#clock.monotonicMs() - sinceMs, maxRestMs));
  }
}
