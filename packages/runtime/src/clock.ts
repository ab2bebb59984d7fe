/** The source of time, which tests replace. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never goes backwards, with a fraction. */
  monotonicMs(): number;
  /** Calls back once after `delayMs`; returns a function that cancels the timer. */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`, or at once when the signal aborts; never rejects. */
export function sleep(delayMs: number, signal: AbortSignal, clock: Clock = systemClock): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(delayMs, done);
    signal.addEventListener("abort", done, { once: true });
  });
}
