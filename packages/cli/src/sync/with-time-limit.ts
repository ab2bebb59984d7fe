/** Runs something with a signal that aborts with the given one, or after this time in ms. */
export async function withTimeLimit<Result>(
  signal: AbortSignal,
  ms: number,
  run: (limit: AbortSignal) => Promise<Result>,
): Promise<Result> {
  // Not AbortSignal.timeout: in Node 20 nothing keeps it while it is only a part of another signal, and once collected it never aborts.
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), ms).unref();
  try {
    return await run(AbortSignal.any([signal, timeout.signal]));
  } finally {
    clearTimeout(timer);
  }
}
