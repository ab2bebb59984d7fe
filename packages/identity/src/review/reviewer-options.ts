import type { ReviewCacheOptions } from "./review-cache.js";
import type { ReviewClient } from "./review-client.js";

/** The options that every reviewer takes. */
export interface ReviewerOptions extends ReviewCacheOptions {
  readonly client: ReviewClient;
}
