/** A request with more bytes than this may take long: its context has thousands of values. */
export const longRequestBytes = 16 * 1024;

/** Node accepts one connection in each turn of the event loop, so a new client would wait for as many long requests as others connect. */
export const turnsBetween = 16;

/**
 * Answers the requests that take long one after the other, with turns of the event loop between them, in which connections are accepted and
 * evaluations of single flags are answered. Hundreds of peers may ask for all flags at once, and node passes on whatever has arrived before it
 * looks for more.
 */
export class LongRequests {
  readonly #waiting: (() => void)[] = [];
  readonly #next = (): void => {
    if (--this.#turnsLeft > 0) {
      setImmediate(this.#next);
      return;
    }
    const answer = this.#waiting.shift();
    if (answer !== undefined) this.#begin(answer);
  };
  /** Until the next may be answered. */
  #turnsLeft = 0;

  /** Calls `answer`, which must not throw: at once, or when its turn has come. */
  run(answer: () => void): void {
    if (this.#turnsLeft > 0) this.#waiting.push(answer);
    else this.#begin(answer);
  }

  #begin(answer: () => void): void {
    this.#turnsLeft = turnsBetween;
    setImmediate(this.#next);
    answer();
  }
}
