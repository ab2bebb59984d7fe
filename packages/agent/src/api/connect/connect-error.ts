import type { StatusName } from "@bunting/rpc";

export type FailureCode = Exclude<StatusName, "OK">;

export const connectHttpStatus: Readonly<Record<FailureCode, number>> = {
  CANCELLED: 499,
  UNKNOWN: 500,
  INVALID_ARGUMENT: 400,
  DEADLINE_EXCEEDED: 504,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  PERMISSION_DENIED: 403,
  RESOURCE_EXHAUSTED: 429,
  FAILED_PRECONDITION: 400,
  ABORTED: 409,
  OUT_OF_RANGE: 400,
  UNIMPLEMENTED: 501,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DATA_LOSS: 500,
  UNAUTHENTICATED: 401,
};

/** The body of a Connect error: JSON, also in answer to protobuf. */
export function connectErrorJson(code: FailureCode, message: string): string {
  // Connect spells this one code with a single l.
  const name = code === "CANCELLED" ? "canceled" : code.toLowerCase();
  return `{"code":"${name}","message":${JSON.stringify(message)}}`;
}
