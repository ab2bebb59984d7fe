import { setMaxListeners } from "node:events";
import { KubeError } from "../kube-error.js";

/** At most so many at once; the others wait in the order they came. */
export class CallLimit {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(maxConcurrent: number) {
    this.#free = maxConcurrent;
  }

  /**
   * Runs it when there is room.
   *
   * @throws KubeError ABORTED if the signal aborts before.
   */
  async run<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await call();
    } finally {
      this.#leave();
    }
  }

  #enter(signal: AbortSignal): Promise<void> {
    const aborted = (): KubeError =>
      new KubeError("ABORTED", "the request was aborted", { cause: signal.reason });
    if (signal.aborted) return Promise.reject(aborted());
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#waiting.delete(enter);
        reject(aborted());
      };
      this.#waiting.add(enter);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** The place goes to the next in line, past whoever comes just now. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
