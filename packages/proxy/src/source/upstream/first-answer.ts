import type { Clock } from "@bunting/runtime";
import type { MessageArrival } from "@bunting/sync-client";

/**
 * Calls back if a stream brings nothing of what was asked on it within a time: its server may send heartbeats, and know no more. While an answer is
 * arriving, the time begins anew.
 */
export class FirstAnswer {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #arrival: Pick<MessageArrival, "goesOn">;
  readonly #late: () => void;
  #cancel: (() => void) | undefined;
  #isOver = false;

  constructor(clock: Clock, timeoutMs: number, arrival: Pick<MessageArrival, "goesOn">, late: () => void) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
    this.#arrival = arrival;
    this.#late = late;
  }

  /** Something was asked. */
  wait(): void {
    if (this.#isOver) return;
    this.#cancel ??= this.#clock.after(this.#timeoutMs, () => {
      this.#cancel = undefined;
      if (this.#arrival.goesOn()) this.wait();
      else this.#late();
    });
  }

  /** Something came, or the stream has ended. */
  stop(): void {
    this.#isOver = true;
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
