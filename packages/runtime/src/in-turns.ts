import { setImmediate } from "node:timers/promises";

/** Everything else of the process waits for so long at most, if the steps of the work are short. */
const turnMs = 15;

/** Does work step by step, in turns between which everything else of the process has its own. Rejects with what the work throws. */
export async function inTurns<Result>(work: Iterator<void, Result, void>): Promise<Result> {
  for (;;) {
    const untilMs = performance.now() + turnMs;
    do {
      const step = work.next();
      if (step.done === true) return step.value;
    } while (performance.now() < untilMs);
    await setImmediate();
  }
}
