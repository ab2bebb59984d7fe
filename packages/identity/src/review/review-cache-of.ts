import type { ReviewerOptions } from "./reviewer-options.js";
import { Reviews, type ReviewKind, type ReviewTimes } from "./reviews.js";

/** Reviews of one kind, as every reviewer makes them. */
export function reviewsOf<Question, Answer>(
  kind: ReviewKind<Question, Answer>,
  defaults: ReviewTimes,
  { line, clock, times, onReview }: ReviewerOptions,
): Reviews<Question, Answer> {
  return new Reviews({
    kind,
    times: { ...defaults, ...times },
    line,
    clock,
    ...(onReview === undefined ? {} : { onReview }),
  });
}
