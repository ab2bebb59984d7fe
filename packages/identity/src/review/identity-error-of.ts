import { IdentityError } from "../identity-error.js";
import { ReviewError } from "./review-error.js";

/** The IdentityError for a review that has no answer; other errors stay as they are. */
export function identityErrorOf(error: unknown): IdentityError {
  if (error instanceof IdentityError) return error;
  if (error instanceof ReviewError)
    return new IdentityError("IDENTITY_UNAVAILABLE", `it can't be found out who calls: ${error.message}`, {
      cause: error,
    });
  throw error;
}
