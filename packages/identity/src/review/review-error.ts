import { CodedError } from "@bunting/runtime";
import type { ReviewQueue } from "./review-queue.js";

export type ReviewErrorCode =
  | "UNANSWERED" // the API server has not answered in time.
  | "EXHAUSTED"; // the caller has used up its budget of new or refused questions.

/** A review that has no answer, which grants nothing; the caller may try again. It is shown the message. */
export class ReviewError extends CodedError<ReviewErrorCode> {
  override readonly name = "ReviewError";

  /** @param isSent whether the question was sent to the API server at all */
  static unanswered(
    { isUnavailable, isForbidden }: Pick<ReviewQueue, "isUnavailable" | "isForbidden">,
    isSent: boolean,
  ): ReviewError {
    let message = "the API server does not answer; try again";
    if (isForbidden) message = "the proxy lacks a permission at the API server, which its log names";
    else if (!isSent && !isUnavailable) message = "too many questions wait for the API server; try again";
    return new ReviewError("UNANSWERED", message);
  }

  static tooManyRefusals(): ReviewError {
    const message = "it has asked for too much that it may not read; try again in half a minute";
    return new ReviewError("EXHAUSTED", message);
  }

  static tooManyPending(most: number): ReviewError {
    const message = `${most} of its questions wait for an answer of the API server; try again later`;
    return new ReviewError("EXHAUSTED", message);
  }

  static tooManyQuestions(): ReviewError {
    return new ReviewError("EXHAUSTED", "it has asked too many new questions; try again in half a minute");
  }
}
