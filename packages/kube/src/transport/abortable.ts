import { unlessAborted } from "@bunting/runtime";
import { abortedError } from "./foreign-error.js";

/** Settles as the promise does, or rejects with ABORTED as soon as the signal aborts; the promise's result is then dropped. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const settled = promise.then((value) => ({ value }));
  const result = await unlessAborted(settled, signal);
  if (result === undefined) throw abortedError(signal.reason);
  return result.value;
}
