import type { Clock } from "@bunting/runtime";

/** Holds the first answers of a service: until `release` or `cancel` is called, and no longer than `holdMs` from its construction. */
export class FirstAnswerHold {
  /** Resolves when the hold is released or cancelled. */
  readonly over: Promise<void>;
  readonly #clock: Clock;
  readonly #endsMs: number;
  readonly #onRelease: () => void;
  #resolveOver: () => void = () => undefined;
  #cancelTimer: (() => void) | undefined;
  #state: "holding" | "released" | "cancelled" = "holding";

  constructor(clock: Clock, holdMs: number, onRelease: () => void) {
    this.#clock = clock;
    this.#endsMs = clock.monotonicMs() + holdMs;
    this.#onRelease = onRelease;
    this.over = new Promise((resolve) => {
      this.#resolveOver = resolve;
    });
  }

  get isReleased(): boolean {
    return this.#state === "released";
  }

  /** Whether an answer must wait. The first one that must starts the timer. */
  isHolding(): boolean {
    if (this.#state !== "holding") return false;
    const leftMs = this.#endsMs - this.#clock.monotonicMs();
    if (leftMs > 0) this.#cancelTimer ??= this.#clock.after(leftMs, () => this.release());
    else this.release();
    return leftMs > 0;
  }

  release(): void {
    if (this.#end("released")) this.#onRelease();
  }

  /** Ends the hold without releasing anything: the agent is shutting down. */
  cancel(): void {
    this.#end("cancelled");
  }

  #end(state: "released" | "cancelled"): boolean {
    if (this.#state !== "holding") return false;
    this.#state = state;
    this.#cancelTimer?.();
    this.#resolveOver();
    return true;
  }
}
