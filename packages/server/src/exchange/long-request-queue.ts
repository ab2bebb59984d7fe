import { onNextTurn } from "@bunting/runtime";
/** A request with more bytes than this may take long: its context has thousands of values. */
export const longRequestBytes = 16 * 1024;

/** Node accepts one connection in each turn of the event loop, so a new client would wait for as many long requests as others connect. */
export const turnsBetween = 16;

/**
 * Answers the requests that take long one after the other, with turns of the event loop between them, in which connections are accepted and
 * evaluations of single flags are answered. Hundreds of peers may ask for all flags at once, and node passes on whatever has arrived before it
 * looks for more.
 */
export class LongRequestQueue {
  /** In the order in which they came. */
  readonly #waiting = new Set<() => void>();
  readonly #next = (): void => {
    if (--this.#turnsLeft > 0) {
      onNextTurn(this.#next);
      return;
    }
    const [answer] = this.#waiting;
    if (answer === undefined) return;
    this.#waiting.delete(answer);
    this.#begin(answer);
  };
  /** Until the next may be answered. */
  #turnsLeft = 0;

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Calls `answer`, which must not throw: at once, or when its turn has come. The function that is returned takes a request back that is still
   * waiting; it must be called when its client goes, because the request holds its body.
   */
  run(answer: () => void): () => void {
    if (this.#turnsLeft === 0) {
      this.#begin(answer);
      return () => undefined;
    }
    const waiting = (): void => answer();
    this.#waiting.add(waiting);
    return () => this.#waiting.delete(waiting);
  }

  #begin(answer: () => void): void {
    this.#turnsLeft = turnsBetween;
    onNextTurn(this.#next);
    answer();
  }
}
