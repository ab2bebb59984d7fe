import type { RequestListener, IncomingMessage, ServerResponse } from "node:http";
import {
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { closeLeftOpen } from "./close-left-open.js";
import type { PeerAccount } from "../limits/peer-memory.js";
import { setAccount } from "../limits/request-account.js";
import { statusCode } from "../status.js";
import type { GrpcHeaderRules, HeaderFields } from "../transport.js";

/** What an open request takes: node's objects of its stream, its request and its answer. */
const bridgedBytes = 8 * 1024;
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

/** Passes an HTTP/2 request to a listener written for HTTP/1.1. */
export function bridgeRequest(
  onRequest: RequestListener,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: string[],
  account: PeerAccount,
  headerBytes: number,
): void {
  // HTTP/2 clients need not send `host`, but listeners for HTTP/1.1 read it.
  headers.host ??= headers[":authority"];
  const request = new Http2ServerRequest(stream, headers, {}, rawHeaders);
  const response = new Http2ServerResponse(stream);
  setAccount(request as unknown as IncomingMessage, account);
  hold(stream, account, headerBytes);
  response.on("finish", () => setImmediate(closeLeftOpen, stream));
  if (headers[":method"] === "CONNECT") {
    request.resume();
    response.statusCode = 405;
    response.end();
    return;
  }
  // Node's compatibility API: it behaves like HTTP/1.1, though the types are unrelated.
  onRequest(
    request as unknown as IncomingMessage,
    response as unknown as ServerResponse & { req: IncomingMessage },
  );
  // A body that the listener does not read is dropped, or up to 128 KB of it would wait in node while the answer does.
  if (request.readableFlowing !== true) request.resume();
}

/** Refuses a request that is not gRPC on a port that serves nothing else. */
export function refuseOther(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  account: PeerAccount,
  headerBytes: number,
): void {
  const status = headers[":method"] === "POST" ? 415 : 405;
  // As grpc-go refuses it: in the headers, so that gRPC clients of any kind can tell why.
  refuseRequest(stream, account, headerBytes, status, "", {
    "content-type": "application/grpc",
    "grpc-status": status === 415 ? statusCode.INVALID_ARGUMENT : statusCode.INTERNAL,
    "grpc-message": "This port speaks gRPC: POST with content-type application/grpc.",
  });
}

/** Refuses a request that is not gRPC, and drops its body. */
export function refuseRequest(
  stream: ServerHttp2Stream,
  account: PeerAccount,
  headerBytes: number,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders = {},
): void {
  hold(stream, account, headerBytes);
  if (stream.destroyed || stream.closed) return;
  stream.resume();
  stream.on("finish", () => setImmediate(closeLeftOpen, stream));
  stream.respond({ ":status": status, "content-type": "text/plain; charset=utf-8", ...headers });
  stream.end(text === "" ? "" : `${text}\n`);
}

/** Charges a request until its stream closes. */
function hold(stream: ServerHttp2Stream, account: PeerAccount, headerBytes: number): void {
  stream.on("error", ignore);
  account.charge(bridgedBytes + headerBytes);
  stream.on("close", () => account.release(bridgedBytes + headerBytes));
}

function ignore(): void {
  // The stream's close is handled; without a listener, node would raise an uncaught exception.
}
