import type { Clock } from "@bunting/runtime";
import type { ReviewQueue } from "./review-queue.js";
import type { ReviewClient } from "./review-client.js";
import type { ReviewResult, ReviewTimes } from "./review-cache.js";

/** The options that every reviewer takes. */
export interface ReviewerOptions {
  readonly client: ReviewClient;
  readonly queue: ReviewQueue;
  readonly clock: Clock;
  /** Replaced by tests. */
  readonly times?: Partial<ReviewTimes>;
  readonly onReview?: (result: ReviewResult) => void;
}
