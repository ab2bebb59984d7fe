import { statusCode } from "./status.js";
import type { GrpcHeaderRules, HeaderFields } from "./transport.js";
import type { OutgoingHeaders } from "./hpack/header-encoder.js";
import type { RefusedStream } from "./plain-stream.js";

const anyGrpcContentType = /^application\/grpc\s*(?:[+;]|$)/i;
const grpcContentType = /^application\/grpc(?:\+proto)?\s*(?:;|$)/i;

const plainHeaders = { ":status": 200, "content-type": "application/grpc" };
const protoHeaders = { ":status": 200, "content-type": "application/grpc+proto" };

/**
 * The rules of a port that has none of its own.
 *
 * @param isGrpcOnly the port serves nothing else: as in grpc-go, any codec then counts as protobuf.
 */
export function defaultGrpcHeaders(isGrpcOnly: boolean): GrpcHeaderRules {
  const pattern = isGrpcOnly ? anyGrpcContentType : grpcContentType;
  return {
    // gRPC-Web and Connect, which may share the port, have other content types.
    isGrpc: (request) => {
      const contentType = request["content-type"];
      if (typeof contentType !== "string" || request[":method"] !== "POST") return false;
      return contentType === "application/grpc" || pattern.test(contentType);
    },
    responseHeaders: (request) => responseHeaders(request["content-type"]),
  };
}

/** A response has the content type of its request, whatever codec it names. */
function responseHeaders(contentType: HeaderFields[string]): typeof plainHeaders {
  if (contentType === "application/grpc+proto") return protoHeaders;
  if (typeof contentType !== "string" || !/^application\/grpc\+[\w.-]+$/.test(contentType))
    return plainHeaders;
  return { ":status": 200, "content-type": contentType };
}

/** Refuses a request that is not gRPC on a port that serves nothing else. */
export function refuseOther(stream: RefusedStream): void {
  const status = stream.head.text(":method") === "POST" ? 415 : 405;
  // As grpc-go refuses it: in the headers, so that gRPC clients of any kind can tell why.
  refuseRequest(stream, status, "", {
    "content-type": "application/grpc",
    "grpc-status": status === 415 ? statusCode.INVALID_ARGUMENT : statusCode.INTERNAL,
    "grpc-message": "This port speaks gRPC: POST with content-type application/grpc.",
  });
}

/** Refuses a request that is not gRPC, and drops its body. */
export function refuseRequest(
  stream: RefusedStream,
  status: number,
  text: string,
  headers: OutgoingHeaders = {},
): void {
  const base = { ":status": status, "content-type": "text/plain; charset=utf-8" };
  stream.answer({ ...base, ...headers }, text === "" ? "" : `${text}\n`);
}
