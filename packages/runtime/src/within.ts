import { systemClock, type Clock } from "./clock.js";

/** Waits for something, but no longer than `ms`. Resolves to whether it came in time; rejects as the promise does, if that is in time. */
export async function within(
  ms: number,
  promise: Promise<unknown>,
  clock: Clock = systemClock,
): Promise<boolean> {
  let cancel = (): void => undefined;
  const late = new Promise<false>((resolve) => (cancel = clock.after(ms, () => resolve(false))));
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    cancel();
  }
}
