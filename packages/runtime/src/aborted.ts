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
  // Not AbortSignal.any: a signal that lives long keeps something of each that was made of it.
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([promise, over]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Resolves when the signal aborts, at once if it already has; never rejects. Its listener goes with the abort. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
