import { ProtocolError } from "@bunting/protocol";
import { RpcError, type RpcStatus, type StatusName } from "@bunting/rpc";
import { ProxyError, type ProxyErrorCode } from "../proxy-error.js";

/** What a client is told. Clients retry UNAVAILABLE; NOT_FOUND and INVALID_ARGUMENT say that it is theirs, or their operator's, to act. */
const statusNames: Readonly<Record<ProxyErrorCode, StatusName>> = {
  TOPIC_MISSING: "NOT_FOUND",
  TOPIC_DELETED: "NOT_FOUND",
  SHUTTING_DOWN: "UNAVAILABLE",
  SOURCE_UNREADABLE: "UNAVAILABLE",
  SOURCE_CONFLICT: "UNAVAILABLE",
  DOCUMENT_INVALID: "UNAVAILABLE",
  LIMIT_REACHED: "UNAVAILABLE",
  CALLER_GONE: "CANCELLED",
  OPTION_INVALID: "INTERNAL",
  PORT_UNUSABLE: "UNAVAILABLE",
};

/** The status with which an error of the proxy ends a call. */
export function statusOf(error: ProxyError): RpcStatus {
  return { code: statusNames[error.code], message: error.message, trailers: trailersOf(error) };
}

/** When a client that was refused for a limit is to come back, by chance, so that many do not come at once. */
function trailersOf(error: ProxyError): Readonly<Record<string, string>> {
  if (error.code !== "LIMIT_REACHED") return {};
  return { "grpc-retry-pushback-ms": String(5_000 + Math.floor(Math.random() * 10_000)) };
}

/** The error to throw from a handler in place of one of ours; what is not ours stays as it is, and is logged by the server. */
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
