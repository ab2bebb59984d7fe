import type { IncomingMessage, RequestListener } from "node:http";
import { accountOf, RpcError, type StatusName } from "@bunting/rpc";
import { quoted, type Clock, type Logger } from "@bunting/runtime";
import type { ApiMetrics } from "../api-metrics.js";
import { checkUnread } from "../check-unread.js";
import type { RequestHeaders } from "../request-headers.js";
import { decodeResolveAllRequest, decodeResolveRequest } from "../codec/resolve-request.js";
import { encodeAllResponse, responseEncoder } from "../codec/resolve-response.js";
import type { EvaluationService } from "../evaluation-service.js";
import { accessors, type Accessor } from "../typed-value.js";
import { connectErrorJson, connectHttpStatus } from "./connect-error.js";
import { HttpExchange, type HttpExchangeOptions } from "../http/http-exchange.js";
import { parseResolveAllRequest, parseResolveRequest } from "./json-request.js";
import { resolveAllResponseJson, resolveResponseJson } from "./json-response.js";
import { longRequestBytes, type LongRequests } from "../long-requests.js";
import { jsonHeaders } from "../http/json-body.js";
import { readBody } from "../http/request-body.js";

export interface ConnectListenerOptions {
  /** v2, v1 and schema.v1. */
  readonly services: readonly EvaluationService[];
  readonly metrics: ApiMetrics;
  /** Shared by all ports. */
  readonly longRequests: LongRequests;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "error">;
  /** `--max-request-body`, in bytes; 0 means no limit. */
  readonly maxRequestBodyBytes: number;
}

/** A method, for each encoding of its bodies. */
interface Route {
  /** Its answers take long, whatever the request. */
  readonly isLong: boolean;
  readonly json: (body: Buffer, headers: RequestHeaders) => string;
  readonly proto: (body: Buffer, headers: RequestHeaders) => Buffer;
}

const protoHeaders = { "content-type": "application/proto" };
const contentTypes = "application/json, application/proto";

/**
 * The unary half of the Connect protocol: `POST /package.Service/Method` with JSON or protobuf, over HTTP/1.1 or bridged from h2c, for
 * PHP's provider, curl and everything else without a gRPC library. Connect streams and gRPC-Web are not supported yet and are answered
 * 415.
 */
export function createConnectListener(options: ConnectListenerOptions): RequestListener {
  const { metrics, clock, logger } = options;
  const exchangeOptions: HttpExchangeOptions = { service: "evaluation", metrics, clock };
  const routes = new Map(options.services.flatMap(routesOf));
  const streams = new Set(options.services.map(({ dialect }) => `/${dialect.service}/EventStream`));

  return (request, response) => {
    const exchange = new HttpExchange(request, response, exchangeOptions);
    const route = routes.get(exchange.path);
    const isStream = streams.has(exchange.path);
    if (route !== undefined || isStream) exchange.route = exchange.path;
    const refusal = refusalOf(request, route !== undefined, isStream);
    if (refusal !== undefined || route === undefined) {
      request.resume();
      replyError(exchange, refusal ?? unknownMethod);
      return;
    }
    readBody(
      exchange,
      options.maxRequestBodyBytes,
      (body) => {
        const reply = (): void => answer(exchange, route, body, logger);
        if (route.isLong || body.length > longRequestBytes)
          exchange.answerInTurn(options.longRequests, body.length, reply);
        else reply();
      },
      (headers) => {
        const message = `The request body is larger than ${options.maxRequestBodyBytes} bytes (--max-request-body).`;
        replyError(exchange, { code: "RESOURCE_EXHAUSTED", message, headers });
      },
    );
  };
}

function answer(exchange: HttpExchange, route: Route, body: Buffer, logger: Pick<Logger, "error">): void {
  try {
    checkUnread(accountOf(exchange.request));
    if (mediaType(exchange.request) === "application/json") {
      exchange.reply(200, jsonHeaders, route.json(body, exchange));
    } else {
      exchange.reply(200, protoHeaders, route.proto(body, exchange));
    }
  } catch (error) {
    replyError(exchange, asRefusal(error, logger));
  }
}

function routesOf(service: EvaluationService): [path: string, route: Route][] {
  const { dialect } = service;
  const routes = accessors.map((accessor): [string, Route] => [
    `/${dialect.service}/Resolve${accessor}`,
    resolveRoute(service, accessor),
  ]);
  if (dialect.resolveAll !== "none") {
    routes.push([
      `/${dialect.service}/ResolveAll`,
      {
        isLong: true,
        json: (body, headers) =>
          resolveAllResponseJson(dialect, service.resolveAll(parseResolveAllRequest(body), headers)),
        proto: (body, headers) =>
          encodeAllResponse(dialect, service.resolveAll(decodeResolveAllRequest(body), headers)),
      },
    ]);
  }
  return routes;
}

function resolveRoute(service: EvaluationService, accessor: Accessor): Route {
  const encode = responseEncoder(service.dialect, accessor);
  return {
    isLong: false,
    json: (body, headers) =>
      resolveResponseJson(accessor, service.resolve(accessor, parseResolveRequest(body), headers)),
    proto: (body, headers) => encode(service.resolve(accessor, decodeResolveRequest(body), headers)),
  };
}

interface Refusal {
  readonly code: Exclude<StatusName, "OK">;
  readonly message: string;
  /** The HTTP status, where it is not the one of the code. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const unknownMethod: Refusal = {
  status: 404,
  code: "UNIMPLEMENTED",
  message:
    "There is no such method. Expected POST /<service>/<method>, for instance /schema.v1.Service/ResolveBoolean.",
};

/** Why a request is refused before its body is read, if it is. */
function refusalOf(request: IncomingMessage, isUnary: boolean, isStream: boolean): Refusal | undefined {
  if (!isUnary && !isStream) return unknownMethod;
  if (request.method !== "POST") {
    const message = "Only POST is answered here.";
    return { status: 405, code: "UNIMPLEMENTED", message, headers: { allow: "POST" } };
  }
  const type = mediaType(request);
  if (isStream || type.startsWith("application/connect+") || type.startsWith("application/grpc")) {
    const message = isStream
      ? "EventStream over Connect or gRPC-Web is not supported yet: use gRPC."
      : `Requests of type ${quoted(type)} are not supported yet: use gRPC, or ${contentTypes}.`;
    return { status: 415, code: "UNIMPLEMENTED", message, headers: { "accept-post": contentTypes } };
  }
  if (type !== "application/json" && type !== "application/proto") {
    const message = `The content type ${quoted(type)} is not supported: send one of ${contentTypes}.`;
    return { status: 415, code: "INVALID_ARGUMENT", message, headers: { "accept-post": contentTypes } };
  }
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity" && encoding !== "") {
    const message = `The content encoding ${quoted(encoding)} is not supported: send the body unencoded.`;
    return { code: "UNIMPLEMENTED", message };
  }
  return undefined;
}

function asRefusal(error: unknown, logger: Pick<Logger, "error">): Refusal {
  if (error instanceof RpcError && error.code !== "OK") return { code: error.code, message: error.message };
  logger.error({ error }, "an evaluation over HTTP failed");
  return { code: "UNKNOWN", message: "The agent failed to answer; its log says why." };
}

function replyError(exchange: HttpExchange, refusal: Refusal): void {
  const status = refusal.status ?? connectHttpStatus[refusal.code];
  exchange.reply(
    status,
    { ...jsonHeaders, ...refusal.headers },
    connectErrorJson(refusal.code, refusal.message),
  );
}

function mediaType(request: IncomingMessage): string {
  const type = request.headers["content-type"] ?? "";
  const parameters = type.indexOf(";");
  return (parameters === -1 ? type : type.slice(0, parameters)).trim().toLowerCase();
}
