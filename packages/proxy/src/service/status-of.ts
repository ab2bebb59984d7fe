import { ProtocolError } from "@bunting/protocol";
import { RpcError, type RpcStatus, type StatusName } from "@bunting/rpc";
import { ProxyError, type ProxyErrorCode } from "../proxy-error.js";

/** The gRPC status of each error. Clients retry UNAVAILABLE; NOT_FOUND and INVALID_ARGUMENT have to be mended by them or their operator. */
const statusNames: Readonly<Record<ProxyErrorCode, StatusName>> = {
  TOPIC_MISSING: "NOT_FOUND",
  TOPIC_DELETED: "NOT_FOUND",
  SHUTTING_DOWN: "UNAVAILABLE",
  SOURCE_UNREADABLE: "UNAVAILABLE",
  SOURCE_REFUSED: "UNAVAILABLE",
  REMOTE_UNREADABLE: "UNAVAILABLE",
  SOURCE_MISCONFIGURED: "UNAVAILABLE",
  DOCUMENT_INVALID: "UNAVAILABLE",
  DOCUMENT_CROWDED_OUT: "UNAVAILABLE",
  LIMIT_REACHED: "UNAVAILABLE",
  CALLER_GONE: "CANCELLED",
  UNAUTHENTICATED: "UNAUTHENTICATED",
  PERMISSION_DENIED: "PERMISSION_DENIED",
  ACCESS_UNDECIDED: "UNAVAILABLE",
  OPTION_INVALID: "INTERNAL",
  PORT_UNUSABLE: "UNAVAILABLE",
};

export function statusOf(error: ProxyError): RpcStatus {
  return { code: statusNames[error.code], message: error.message, trailers: trailersOf(error) };
}

/** When a client that is refused for now may retry: at random, so that many do not return at once. */
function trailersOf(error: ProxyError): Readonly<Record<string, string>> {
  if (error.code !== "LIMIT_REACHED" && error.code !== "ACCESS_UNDECIDED") return {};
  return { "grpc-retry-pushback-ms": String(5_000 + Math.floor(Math.random() * 10_000)) };
}

/** The RpcError to throw from a handler for one of our errors; others stay as they are, and the server logs them. */
export function rpcErrorOf(error: unknown): unknown {
  if (error instanceof ProxyError)
    return new RpcError(statusNames[error.code], error.message, {
      cause: error,
      trailers: trailersOf(error),
    });
  if (error instanceof ProtocolError)
    return new RpcError("INVALID_ARGUMENT", error.message, { cause: error });
  return error;
}
