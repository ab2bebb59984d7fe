/** A stream whose requests wait for their turn. */
export interface Requester {
  /** Handles its next request. False if none is left, or it can't take one now; it enters again when it has some. */
  handleNext(): boolean;
}

export interface RequestTurnsOptions {
  /** Requests in one turn of the event loop; 64 if not given. */
  readonly perTurn?: number;
  /** Calls back in a later turn of the event loop. */
  readonly nextTurn?: (callback: () => void) => void;
}

/**
 * Limits how many subscribes are handled in one turn of the event loop, of all agents together: each may open a watch, and some thousand fit
 * into a single read of a socket. Streams with more requests than that are not read until theirs are handled, and take turns.
 */
export class RequestTurns {
  readonly #perTurn: number;
  readonly #nextTurn: (callback: () => void) => void;
  readonly #queue = new Set<Requester>();
  #left: number;
  #isTurnAsked = false;

  constructor({ perTurn = 64, nextTurn = setImmediate }: RequestTurnsOptions = {}) {
    this.#perTurn = perTurn;
    this.#nextTurn = nextTurn;
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

  #askForTurn(): void {
    if (this.#isTurnAsked) return;
    this.#isTurnAsked = true;
    this.#nextTurn(() => this.#beginTurn());
  }

  #beginTurn(): void {
    this.#isTurnAsked = false;
    this.#left = this.#perTurn;
    // A requester that is added again at the end is reached again.
    for (const requester of this.#queue) {
      if (this.#left === 0) break;
      this.#left--;
      this.#queue.delete(requester);
      if (requester.handleNext()) this.#queue.add(requester);
    }
    if (this.#queue.size > 0) this.#askForTurn();
  }
}
