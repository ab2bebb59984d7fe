import type { Context } from "@bunting/runtime";

const intervalMs = 60_000;

/** Logs for each key at most once a minute that it fails, and then that it succeeds again. Metrics count all failures. */
export class FailureLog {
  readonly #controller: string;
  readonly #context: Pick<Context, "clock" | "logger">;
  /** When a failure of a key was logged last, in this order. Keys come and go with objects: only the last minute is kept. */
  readonly #loggedMs = new Map<string, number>();
  /** Keys of which a failure was logged, but no success since. */
  readonly #failing = new Set<string>();

  constructor(controller: string, context: Pick<Context, "clock" | "logger">) {
    this.#controller = controller;
    this.#context = context;
  }

  failed(key: string, error: unknown, retryMs: number): void {
    const { clock, logger } = this.#context;
    const nowMs = clock.monotonicMs();
    this.#forgetUntil(nowMs - intervalMs);
    if (this.#loggedMs.has(key)) return;
    this.#loggedMs.set(key, nowMs);
    this.#failing.add(key);
    logger.error(
      { controller: this.#controller, key, error, retryMs: Math.round(retryMs) },
      "reconciling failed, and is tried again",
    );
  }

  succeeded(key: string): void {
    if (!this.#failing.delete(key)) return;
    this.#context.logger.info({ controller: this.#controller, key }, "reconciling succeeds again");
  }

  #forgetUntil(timeMs: number): void {
    for (const [key, loggedMs] of this.#loggedMs) {
      if (loggedMs > timeMs) return;
      this.#loggedMs.delete(key);
    }
  }
}
