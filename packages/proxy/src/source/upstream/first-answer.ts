import type { Clock } from "@bunting/runtime";

/** Calls back if a stream brings nothing of what was asked on it within a time: its server may send heartbeats, and know no more. */
export class FirstAnswer {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #late: () => void;
  #cancel: (() => void) | undefined;
  #isOver = false;

  constructor(clock: Clock, timeoutMs: number, late: () => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#late = late;
  }

  /** Something was asked. */
  wait(): void {
    if (this.#isOver) return;
    this.#cancel ??= this.#clock.after(this.#timeoutMs, () => {
      this.#cancel = undefined;
      this.#late();
    });
  }

  /** Something came, or the stream has ended. */
  stop(): void {
    this.#isOver = true;
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
