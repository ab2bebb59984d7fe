import { setMaxListeners } from "node:events";

/** Whether the signal has aborted, as a function: the compiler assumes that what was false before an await is false after it. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** The result of the promise, or undefined as soon as the signal aborts: the result is dropped then. */
export async function unlessAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  let stop = (): void => undefined;
  const over = new Promise<undefined>((resolve) => (stop = () => resolve(undefined)));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([promise, over]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/**
 * Runs something with a signal that aborts with the first of these, and leaves nothing at them once it has ended. AbortSignal.any does: in Node 20, a
 * signal that lives long keeps something of each that was made of it.
 */
export async function untilAny<Result>(
  signals: readonly AbortSignal[],
  run: (first: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const first = new AbortController();
  const stops = signals.map((signal) => {
    const stop = (): void => first.abort(signal.reason);
    // Any number may run until one signal: that is no leak.
    setMaxListeners(0, signal);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    return () => signal.removeEventListener("abort", stop);
  });
  try {
    return await run(first.signal);
  } finally {
    for (const stop of stops) stop();
  }
}

/** Resolves when the signal aborts, at once if it already has; never rejects. Its listener goes with the abort. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
