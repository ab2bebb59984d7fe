/** Work that can be done in several turns of the event loop, or at once. A step takes some milliseconds. */
export type DocumentWork<Result> = Generator<void, Result, void>;

/** How many flags are one step. */
export const flagsPerStep = 512;

/** True for the last of so many flags, or evaluators, as are one step. */
export function isStep(count: number): boolean {
  return count % flagsPerStep === 0;
}

export function atOnce<Result>(work: DocumentWork<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
