import { runInSlices, type Clock } from "@bunting/runtime";
import type { DocumentWork } from "@bunting/protocol";

/** Does work in slices, between which Pods are admitted. Resolves to its result, or to undefined if the clock comes to `untilMs` before; rejects with what it throws. */
export function workUntil<Result>(
  work: DocumentWork<Result>,
  untilMs: number,
  clock: Pick<Clock, "monotonicMs">,
): Promise<Result | undefined> {
  return runInSlices(stepsUntil(work, untilMs, clock));
}

function* stepsUntil<Result>(
  work: DocumentWork<Result>,
  untilMs: number,
  clock: Pick<Clock, "monotonicMs">,
): DocumentWork<Result | undefined> {
  while (clock.monotonicMs() < untilMs) {
    const step = work.next();
    if (step.done === true) return step.value;
    yield;
  }
  return undefined;
}
