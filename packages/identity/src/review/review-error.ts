import { CodedError } from "@bunting/runtime";

/**
 * Why there is no answer of the API server about a peer.
 *
 * - UNANSWERED: the API server has not answered in time.
 * - EXHAUSTED: the peer has asked for too much that it may not read.
 */
export type ReviewErrorCode = "UNANSWERED" | "EXHAUSTED";

/** There is no answer, and therefore no permission, for now. */
export class ReviewError extends CodedError<ReviewErrorCode> {
  override readonly name = "ReviewError";
}
