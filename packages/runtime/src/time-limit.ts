import { setMaxListeners } from "node:events";
import { systemClock, type Clock } from "./clock.js";

/**
 * Runs something with a signal that aborts with the given one, or after this time in ms.
 *
 * Neither AbortSignal.timeout nor AbortSignal.any is used. In Node 20 nothing keeps a timeout while it is only a part of another signal, and once
 * collected it never aborts; and a signal that lives long keeps something of each that was made of it.
 *
 * @param late what to reject with instead if it fails after this time
 */
export async function withTimeLimit<Result>(
  signal: AbortSignal,
  ms: number,
  run: (limit: AbortSignal) => Promise<Result>,
  { clock = systemClock, late }: { readonly clock?: Clock; readonly late?: (cause: unknown) => Error } = {},
): Promise<Result> {
  const limit = new AbortController();
  const stop = (): void => limit.abort(signal.reason);
  const cancel = clock.after(ms, () => limit.abort());
  // Any number may run until one signal: that is no leak.
  setMaxListeners(0, signal);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await run(limit.signal);
  } catch (error) {
    throw late !== undefined && limit.signal.aborted && !signal.aborted ? late(error) : error;
  } finally {
    cancel();
    signal.removeEventListener("abort", stop);
  }
}
