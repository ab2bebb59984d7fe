import { isAborted } from "@bunting/runtime";

/** Parts of one piece of work that do not need each other: one that fails does not keep the others from being done. There may be more than are made. */
export class Attempts {
  readonly #signal: AbortSignal;
  readonly #max: number;
  readonly #errors: unknown[] = [];
  #count = 0;

  /**
   * @param signal nothing more is attempted once it aborts
   * @param max further ones are not made
   */
  constructor(signal: AbortSignal, max = Infinity) {
    this.#signal = signal;
    this.#max = max;
  }

  /** True if some were not made. */
  get areTooMany(): boolean {
    return this.#count > this.#max;
  }

  /** Rejects only if the signal has aborted. */
  async make(attempt: () => Promise<void>): Promise<void> {
    if (++this.#count > this.#max) return;
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
