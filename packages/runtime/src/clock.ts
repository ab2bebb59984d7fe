/** The source of time, which tests replace. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never goes backwards, with a fraction. */
  monotonicMs(): number;
  /**
   * Calls back once after `delayMs`, of any length; after Infinity never, after a negative time as soon as possible. Returns a function that
   * cancels the timer.
   *
   * @throws RangeError for NaN, which setTimeout would take for 1 ms.
   */
  after(delayMs: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, callback) => {
    if (Number.isNaN(delayMs)) throw new RangeError("the delay of a timer is not a number");
    if (delayMs > maxTimerMs) return afterLong(delayMs, callback);
    // Node 24 warns of negative ones.
    const timer = setTimeout(callback, Math.max(0, delayMs));
    return () => clearTimeout(timer);
  },
};

/** The longest delay of setTimeout, some 24.8 days: it takes a longer one for 1 ms. */
const maxTimerMs = 2 ** 31 - 1;

/** One timer after another. */
function afterLong(delayMs: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (leftMs: number): void => {
    const stepMs = Math.min(leftMs, maxTimerMs);
    timer = setTimeout(() => (leftMs > stepMs ? wait(leftMs - stepMs) : callback()), stepMs);
  };
  wait(delayMs);
  return () => clearTimeout(timer);
}

/** Resolves after `delayMs`, or at once when the signal aborts; never rejects. */
export function sleep(delayMs: number, signal: AbortSignal, clock: Clock = systemClock): Promise<void> {
  return startSleep(delayMs, signal, clock).ended;
}

/** A sleep that `wake` ends early. */
export function startSleep(
  delayMs: number,
  signal: AbortSignal,
  clock: Clock,
): { readonly ended: Promise<void>; readonly wake: () => void } {
  if (signal.aborted) return { ended: Promise.resolve(), wake: () => undefined };
  let resolve = (): void => undefined;
  const ended = new Promise<void>((end) => (resolve = end));
  const wake = (): void => {
    cancel();
    signal.removeEventListener("abort", wake);
    resolve();
  };
  const cancel = clock.after(delayMs, wake);
  signal.addEventListener("abort", wake, { once: true });
  return { ended, wake };
}
