import { systemClock, type Clock } from "./clock.js";

/** Waits for something, but no longer than `ms`: resolves then as well. Rejects as the promise does, if that is in time. */
export async function within(
  ms: number,
  promise: Promise<unknown>,
  clock: Clock = systemClock,
): Promise<void> {
  let cancel = (): void => undefined;
  const late = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  try {
    await Promise.race([promise, late]);
  } finally {
    cancel();
  }
}
