import type { Clock } from "@bunting/runtime";

/** Delays the first answers of a service until `release` or `cancel`, but at most `maxMs` from its construction. */
export class FirstAnswerDelay {
  /** Resolves when the answers are released or cancelled. */
  readonly over: Promise<void>;
  readonly #clock: Clock;
  readonly #endsMs: number;
  readonly #onRelease: () => void;
  #resolveOver: () => void = () => undefined;
  #cancelTimer: (() => void) | undefined;
  #state: "waiting" | "released" | "cancelled" = "waiting";

  constructor(clock: Clock, maxMs: number, onRelease: () => void) {
    this.#clock = clock;
    this.#endsMs = clock.monotonicMs() + maxMs;
    this.#onRelease = onRelease;
    this.over = new Promise((resolve) => (this.#resolveOver = resolve));
  }

  get isReleased(): boolean {
    return this.#state === "released";
  }

  /** True if an answer must wait. The first one that must starts the timer. */
  mustWait(): boolean {
    if (this.#state !== "waiting") return false;
    const leftMs = this.#endsMs - this.#clock.monotonicMs();
    if (leftMs > 0) this.#cancelTimer ??= this.#clock.after(leftMs, () => this.release());
    else this.release();
    return leftMs > 0;
  }

  release(): void {
    if (this.#end("released")) this.#onRelease();
  }

  /** Ends the wait without an answer: the agent is shutting down. */
  cancel(): void {
    this.#end("cancelled");
  }

  #end(state: "released" | "cancelled"): boolean {
    if (this.#state !== "waiting") return false;
    this.#state = state;
    this.#cancelTimer?.();
    this.#resolveOver();
    return true;
  }
}
