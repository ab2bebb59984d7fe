import type { ReviewerOptions } from "./reviewer-options.js";
import { ReviewCache, type ReviewKind, type ReviewTimes } from "./review-cache.js";

/** The cache of one kind of reviews, as every reviewer makes it. */
export function reviewCacheOf<Question, Answer>(
  kind: ReviewKind<Question, Answer>,
  defaults: ReviewTimes,
  { queue, clock, times, onReview }: ReviewerOptions,
): ReviewCache<Question, Answer> {
  return new ReviewCache({
    kind,
    times: { ...defaults, ...times },
    queue,
    clock,
    ...(onReview === undefined ? {} : { onReview }),
  });
}
