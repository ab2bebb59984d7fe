import { Backoff } from "@bunting/runtime";
import type { ReplicatedShared } from "./replicated-shared.js";

/** How long it takes at most until an owner is asked again. */
const capMs = 600_000;

/**
 * When something is done about a record that can't be used: at once, because its owner may be able to write it anew, and then ever more rarely. What
 * the owner writes may be what can't be used, under another key for instance, and each question costs it a read of the API server and a write.
 */
export class RepairPace {
  readonly #clock: ReplicatedShared<unknown>["clock"];
  readonly #waits: Backoff;
  #dueMs = -Infinity;

  constructor({ clock, answerMs }: Pick<ReplicatedShared<unknown>, "clock" | "answerMs">) {
    this.#clock = clock;
    this.#waits = new Backoff({ firstMs: answerMs, capMs });
  }

  /** Whether it is time; then it is not again before the next wait is over. */
  isDue(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#dueMs) return false;
    this.#dueMs = nowMs + this.#waits.next();
    return true;
  }

  /** A record could be used: the next that can't is another matter. */
  reset(): void {
    this.#dueMs = -Infinity;
    this.#waits.reset();
  }
}
