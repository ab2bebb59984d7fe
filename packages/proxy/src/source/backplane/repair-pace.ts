import { Backoff } from "@bunting/runtime";
import type { ReplicatedShared } from "./replicated-shared.js";

/** The longest wait before an owner is asked again. */
const capMs = 600_000;

/**
 * Back-off of requests to write a record again that can't be used: the first at once, later ones ever more rarely. The
 * owner's own record may be the unusable one (signed with another key, for instance), and each request costs the owner a
 * read of the API server and a write.
 */
export class RepairPace {
  readonly #clock: ReplicatedShared<unknown>["context"]["clock"];
  readonly #waits: Backoff;
  #dueMs = -Infinity;

  constructor({ context, times }: Pick<ReplicatedShared<unknown>, "context" | "times">) {
    this.#clock = context.clock;
    this.#waits = new Backoff({ firstMs: times.answerMs, capMs });
  }

  /** True if a request is due; the next one is due after the next wait. */
  isDue(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#dueMs) return false;
    this.#dueMs = nowMs + this.#waits.next();
    return true;
  }

  /** A record could be used: the waits begin anew. */
  reset(): void {
    this.#dueMs = -Infinity;
    this.#waits.reset();
  }
}
