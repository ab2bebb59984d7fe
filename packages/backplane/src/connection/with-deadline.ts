import { onNextTurn, type Clock } from "@bunting/runtime";

/**
 * Settles as the promise does, or rejects with what `late` returns if it takes too long.
 *
 * Timers come before sockets in a turn of the event loop: after the process was busy, or stopped, the answer may be there already, unread,
 * when the timer fires. So it has one more turn; and all of its time again if the timer itself is late, because then nobody waited.
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
