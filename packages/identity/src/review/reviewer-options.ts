import type { RestClient } from "@bunting/kube";
import type { ReviewCacheOptions } from "./review-cache.js";

/** The part of the API client that reviews need. */
export type ReviewClient = Pick<RestClient, "raw">;

/** The options that every reviewer takes. */
export interface ReviewerOptions extends ReviewCacheOptions {
  readonly client: ReviewClient;
}
