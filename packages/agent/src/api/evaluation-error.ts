import { RpcError } from "@bunting/rpc";
import type { EvaluationErrorCode } from "@bunting/evaluation";

/** How an evaluation can fail once the accessor is known. */
export type ApiErrorCode = EvaluationErrorCode | "TYPE_MISMATCH" | "PROVIDER_NOT_READY";

/** Said instead of "not found" as long as a source that could have the flag has not answered. */
export const unreadMessage = "a source that may have the flag has not answered yet";

/**
 * The statuses and messages of flagd. Created once: an application that asks for a missing flag does so often, and capturing a stack
 * trace each time would cost more than the answer.
 */
const errors: Readonly<Record<ApiErrorCode, RpcError>> = {
  FLAG_NOT_FOUND: new RpcError("NOT_FOUND", "Flag not found"),
  TYPE_MISMATCH: new RpcError("INVALID_ARGUMENT", "Type mismatch error"),
  PARSE_ERROR: new RpcError("DATA_LOSS", "Error parsing input or configuration"),
  // The application waits for the value, or for the default in its code: retries of providers take up to 7 s, and a source may be away for hours.
  PROVIDER_NOT_READY: new RpcError("UNAVAILABLE", unreadMessage, {
    trailers: { "grpc-retry-pushback-ms": "-1" },
  }),
  GENERAL: new RpcError("UNKNOWN", "General error"),
};

export function evaluationError(code: ApiErrorCode): RpcError {
  return errors[code];
}
