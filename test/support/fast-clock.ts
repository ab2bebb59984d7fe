import type { Clock } from "@bunting/runtime";

/** A clock that runs faster than real time: waits of seconds take milliseconds. */
export class FastClock implements Clock {
  readonly #factor: number;
  readonly #startMs = performance.now();

  constructor(factor: number) {
    this.#factor = factor;
  }

  now(): number {
    return Date.now();
  }

  monotonicMs(): number {
    return (performance.now() - this.#startMs) * this.#factor;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = setTimeout(callback, delayMs / this.#factor);
    return () => clearTimeout(timer);
  }
}
