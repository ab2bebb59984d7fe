import type { Clock } from "@bunting/runtime";
import type { ApiLine } from "./api-line.js";
import type { ReviewClient } from "./review-client.js";
import type { ReviewResult, ReviewTimes } from "./reviews.js";

/** What every kind of question to the API server takes. */
export interface ReviewerOptions {
  readonly client: ReviewClient;
  readonly line: ApiLine;
  readonly clock: Clock;
  /** Replaced by tests. */
  readonly times?: Partial<ReviewTimes>;
  readonly onReview?: (result: ReviewResult) => void;
}
