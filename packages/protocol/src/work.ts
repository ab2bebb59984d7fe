/** Work that can be done in several turns of the event loop, or at once. A step takes some milliseconds. */
export type DocumentWork<Result> = Generator<void, Result, void>;

/** How many flags are one step. */
export const flagsPerStep = 512;

export function atOnce<Result>(work: DocumentWork<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
