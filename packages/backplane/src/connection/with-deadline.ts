import { onNextTurn, type Clock } from "@bunting/runtime";

/**
 * Settles as the promise does, or rejects with what `late` returns if it takes too long.
 *
 * Timers come before sockets in a turn of the event loop: after the process was busy, or stopped, the answer may have arrived
 * unread when the timer fires. So the promise gets one more turn. If the timer itself is late, the promise gets all of its time
 * again, because the process did not run meanwhile.
 */
export async function withDeadline<T>(
  promise: Promise<T>,
  timeoutMs: number,
  clock: Clock,
  late: () => Error,
): Promise<T> {
  let cancel = (): void => undefined;
  const expired = new Promise<never>((_, reject) => {
    const wait = (isLast: boolean): void => {
      const dueMs = clock.monotonicMs() + timeoutMs;
      cancel = clock.after(timeoutMs, () => {
        const isLate = clock.monotonicMs() - dueMs > timeoutMs / 4;
        if (isLate && !isLast) wait(true);
        else onNextTurn(() => reject(late()));
      });
    };
    wait(false);
  });
  try {
    return await Promise.race([promise, expired]);
  } finally {
    cancel();
  }
}
