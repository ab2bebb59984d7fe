import type { Clock } from "../clock.js";

/**
 * Looks at many things again and again with one timer, instead of one timer for each of them: a sweep compares what is there with what was
 * there at the sweep before. A sweep that is late, because the event loop was blocked, counts once: what has arrived meanwhile has been read
 * before it, since the next one is timed from the end of the last.
 */
export class Sweep {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #look: () => void;
  #cancelNext: (() => void) | undefined;

  /** @param everyMs the time between two sweeps; Infinity: never. */
  constructor(clock: Clock, everyMs: number, look: () => void) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#look = look;
  }

  /** Begins to sweep. Does nothing if it already does, or never is to. */
  start(): void {
    if (this.#everyMs === Infinity) return;
    this.#cancelNext ??= this.#clock.after(this.#everyMs, () => {
      this.#cancelNext = undefined;
      // Before the callback, which may stop the sweep.
      this.start();
      this.#look();
    });
  }

  /** Ends the sweeps, also from within one. */
  stop(): void {
    this.#cancelNext?.();
    this.#cancelNext = undefined;
  }
}
