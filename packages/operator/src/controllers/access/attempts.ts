import { isAborted } from "@bunting/runtime";

/** Parts of one piece of work that do not need each other: one that fails does not keep the others from being done. */
export class Attempts {
  readonly #signal: AbortSignal;
  readonly #errors: unknown[] = [];

  /** @param signal nothing more is attempted once it aborts */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Rejects only if the signal has aborted. */
  async make(attempt: () => Promise<void>): Promise<void> {
    try {
      await attempt();
    } catch (error) {
      if (isAborted(this.#signal)) throw error;
      this.#errors.push(error);
    }
  }

  /** @throws the first error, with which the work is to be repeated */
  end(): void {
    if (this.#errors.length > 0) throw this.#errors[0];
  }
}
