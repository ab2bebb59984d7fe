/** Whether the signal has aborted, as a function: the compiler assumes that what was false before an await is false after it. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** Resolves when the signal aborts, at once if it already has; never rejects. Its listener goes with the abort. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
