import { CodedError } from "@bunting/runtime";

/** Reasons for which a review has no answer. */
export type ReviewErrorCode =
  | "UNANSWERED" // the API server has not answered in time.
  | "EXHAUSTED"; // the caller has used up its budget of new or refused questions.

/** A review that has no answer, which grants nothing; the caller may try again. */
export class ReviewError extends CodedError<ReviewErrorCode> {
  override readonly name = "ReviewError";
}
