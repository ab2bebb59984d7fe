import { untilAny } from "./aborted.js";
import { systemClock, type Clock } from "./clock.js";

/**
 * Runs something with a signal that aborts with the given one, or after this time in ms.
 *
 * AbortSignal.timeout is not used: in Node 20 nothing keeps a timeout while it is only a part of another signal, and once collected it never aborts.
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
  const cancel = clock.after(ms, () => limit.abort());
  try {
    return await untilAny([signal, limit.signal], run);
  } catch (error) {
    throw late !== undefined && limit.signal.aborted && !signal.aborted ? late(error) : error;
  } finally {
    cancel();
  }
}
