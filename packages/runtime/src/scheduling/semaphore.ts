import { setMaxListeners } from "node:events";

/** Admits a fixed number of holders at a time; the others wait and are admitted in the order in which they asked. */
export class Semaphore {
  readonly #permits: number;
  readonly #waiting = new Set<() => void>();
  #inUse = 0;

  constructor(permits: number) {
    this.#permits = permits;
  }

  /** Permits that are held at present. */
  get inUse(): number {
    return this.#inUse;
  }

  /**
   * Resolves with a function that returns the permit; calling it again has no effect. Rejects with the signal's reason if that aborts
   * first; without one it waits however long it takes.
   */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#inUse < this.#permits) this.#inUse++;
    else await this.#wait(signal);
    let isHeld = true;
    return () => {
      if (isHeld) this.#release();
      isHeld = false;
    };
  }

  /** Runs the task once a permit is free, and returns the permit however the task ends. */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.acquire(signal);
    try {
      return await task();
    } finally {
      release();
    }
  }

  /** A returned permit goes straight to the first in line without becoming free, so that no later caller overtakes. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#inUse--;
    else {
      this.#waiting.delete(next);
      next();
    }
  }

  #wait(signal?: AbortSignal): Promise<void> {
    // Any number may wait on one signal: that is no leak.
    if (signal !== undefined) setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#waiting.delete(admit);
        reject(signal?.reason as Error);
      };
      this.#waiting.add(admit);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }
}
