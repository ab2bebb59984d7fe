/** Whether the signal has aborted, as a function: the compiler assumes that what was false before an await is false after it. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** What the promise resolves to, or undefined as soon as the signal aborts: its result is dropped then. */
export async function unlessAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
): Promise<Value | undefined> {
  const ended = new AbortController();
  const over = aborted(AbortSignal.any([signal, ended.signal])).then(() => undefined);
  try {
    return await Promise.race([promise, over]);
  } finally {
    ended.abort();
  }
}

/** Resolves when the signal aborts, at once if it already has; never rejects. Its listener goes with the abort. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
