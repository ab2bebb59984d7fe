import { sleep, type Clock } from "@bunting/runtime";

/** A merge, and a message to each subscriber, follow each version: a remote that changes without end is followed once in so long. */
const versionMs = 1_000;

/**
 * Says when the next version of a remote may be taken: at once, unless it is the second one within a second. What it returns resolves when it may, or
 * the signal aborts.
 */
export function versionPace(clock: Clock): (signal: AbortSignal) => Promise<void> {
  let nextMs = -Infinity;
  return async (signal) => {
    const waitMs = nextMs - clock.monotonicMs();
    if (waitMs > 0) await sleep(waitMs, signal, clock);
    nextMs = clock.monotonicMs() + versionMs;
  };
}
