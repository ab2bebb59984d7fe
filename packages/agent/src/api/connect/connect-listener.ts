import type { RequestListener } from "node:http";
import {
  accountOf,
  HttpExchange,
  longRequestBytes,
  readBody,
  type HttpExchangeOptions,
} from "@bunting/server";
import { RpcError, parseGrpcTimeout, type StatusName } from "@bunting/rpc";
import type { Logger } from "@bunting/runtime";
import type { RpcSystem } from "../api-metrics.js";
import { challenge, unadmitted } from "../callers.js";
import { checkUnread } from "../check-unread.js";
import type { EvaluationService } from "../evaluation-service.js";
import { clientDeadlineStatus, type EventStreams } from "../events/event-stream.js";
import { decodeBase64 } from "./base64-body.js";
import { CallAnswer, type CallFailure } from "./call-answer.js";
import { decompress, encodingHeaders, negotiateCompression, type Compression } from "./compression.js";
import { streamCallTypes, unaryCallTypes, type CallProtocol, type CallType } from "./content-type.js";
import { soleEnvelope, type RequestTail } from "./envelope.js";
import { proceduresOf, type Procedure } from "./procedure.js";
import type { WebApi } from "../http/web-api.js";
import type { RequestHeaders } from "../request-headers.js";

export interface ConnectListenerOptions {
  /** v2, v1 and schema.v1. */
  readonly services: readonly EvaluationService[];
  readonly events: EventStreams;
  readonly web: WebApi;
  readonly logger: Pick<Logger, "error">;
}

const plainText = { "content-type": "text/plain; charset=utf-8" };
const onlyPost = { ...plainText, allow: "POST" };
/** A longer timer would fire at once. */
const maxTimerMs = 2 ** 31 - 1;

/** A call whose headers have been understood. */
interface WebCall {
  readonly exchange: HttpExchange;
  readonly procedure: Procedure;
  readonly type: CallType;
  readonly compression: Compression;
  readonly answer: CallAnswer;
  readonly timeoutMs: number | undefined;
}

/**
 * The evaluation services for everything that has no library of gRPC: Connect, unary and streaming, and gRPC-Web, with JSON or protobuf,
 * over HTTP/1.1 or bridged from h2c. What is not native gRPC comes here as well: gRPC over HTTP/1.1, with JSON, or compressed. Answers are
 * those of connect-go, which flagd is built on.
 */
export function createConnectListener(options: ConnectListenerOptions): RequestListener {
  const exchangeOptions: HttpExchangeOptions = { service: "evaluation", ...options.web };
  const procedures = new Map(options.services.flatMap((service) => proceduresOf(service)));
  // Counted as routes, as in flagd; other paths without a method are not, because clients make them up.
  const serviceRoutes = new Set(options.services.map(({ dialect }) => `/${dialect.service}/`));

  return (request, response) => {
    const exchange = new HttpExchange(request, response, exchangeOptions);
    if (exchange.answersPreflight()) return;
    const procedure = procedures.get(exchange.path);
    if (procedure === undefined) {
      if (serviceRoutes.has(exchange.path)) exchange.route = exchange.path;
      const text =
        "There is no such method. Expected POST /<service>/<method>, for instance /schema.v1.Service/ResolveBoolean.\n";
      exchange.refuse(404, plainText, text);
      return;
    }
    exchange.route = exchange.path;
    if (request.method !== "POST") {
      exchange.refuse(405, onlyPost, "Only POST is answered here.\n");
      return;
    }
    const types = procedure.kind === "unary" ? unaryCallTypes : streamCallTypes;
    const type = types.of(request.headers["content-type"]);
    if (type === undefined) {
      const headers = { ...plainText, "accept-post": types.acceptPost };
      exchange.refuse(415, headers, `Send one of these content types: ${types.acceptPost}.\n`);
      return;
    }
    if (exchange.isAdmitted()) {
      accept(exchange, procedure, type, options);
      return;
    }
    request.resume();
    const plain: Compression = { ofRequest: "identity", ofAnswer: "identity" };
    const failure = { code: "UNAUTHENTICATED", message: unadmitted, trailers: {} } as const;
    new CallAnswer(exchange, type, plain).fail(failure, type.protocol === "connect" ? challenge : {});
  };
}

function accept(
  exchange: HttpExchange,
  procedure: Procedure,
  type: CallType,
  options: ConnectListenerOptions,
): void {
  const { used, accepted } = encodingHeaders[type.protocol];
  let compression: Compression | undefined;
  let timeoutMs: number | undefined;
  try {
    compression = negotiateCompression(exchange.header(used), exchange.header(accepted));
    checkProtocolVersion(exchange, type);
    timeoutMs = callTimeoutMs(type.protocol, exchange);
  } catch (error) {
    exchange.request.resume();
    new CallAnswer(exchange, type, compression).fail(asFailure(error, options.logger));
    return;
  }
  const answer = new CallAnswer(exchange, type, compression);
  const call: WebCall = { exchange, procedure, type, compression, answer, timeoutMs };
  readBody(
    exchange,
    options.web.maxRequestBodyBytes,
    (body) => {
      const reply = (): void => invoke(call, body, options);
      const isLong = procedure.kind === "unary" && procedure.isLong;
      if (isLong || compression.ofRequest === "gzip" || body.length > longRequestBytes)
        exchange.answerInTurn(options.web.longRequests, body.length, reply);
      else reply();
    },
    (headers) => {
      const message = `The request body is larger than ${options.web.maxRequestBodyBytes} bytes (--max-request-body).`;
      answer.fail({ code: "RESOURCE_EXHAUSTED", message, trailers: {} }, headers);
    },
  );
}

function checkProtocolVersion(exchange: HttpExchange, { protocol }: CallType): void {
  if (protocol !== "connect" && protocol !== "connect-stream") return;
  const version = exchange.header("connect-protocol-version") ?? "";
  if (version !== "" && version !== "1")
    throw new RpcError(
      "INVALID_ARGUMENT",
      `The request can't be read: connect-protocol-version must be "1".`,
    );
}

function invoke(call: WebCall, body: Buffer, options: ConnectListenerOptions): void {
  const { exchange, procedure, type, answer } = call;
  try {
    checkUnread(accountOf(exchange.request));
    const message = messageOf(call, body, options.web.maxRequestBodyBytes);
    if (call.compression.ofRequest === "gzip") exchange.willParse(message.length);
    if (procedure.kind === "unary")
      answer.reply(countedReply(callCount(call, message, options), procedure[type.codec](message, exchange)));
    else subscribe(call, message, options);
  } catch (error) {
    if (error instanceof RpcError) exchange.countRefusal(error.refusal);
    answer.fail(asFailure(error, options.logger));
  }
}

/** Counts a call that has ended. */
type CallCount = (code: StatusName, responseBytes: number, responses: number) => void;

function callCount(
  { exchange, type }: WebCall,
  { length }: Buffer,
  { web }: ConnectListenerOptions,
): CallCount {
  const system = rpcSystems[type.protocol];
  return (code, bytes, responses) =>
    web.metrics.rpc(system, exchange.path, code, exchange.elapsedMs, length, bytes, responses);
}

/** As in flagd, a unary call is counted once its message could be read. */
function countedReply(count: CallCount, reply: () => Buffer): Buffer {
  const body = countingFailure(count, reply);
  count("OK", body.length, 1);
  return body;
}

function countingFailure<Result>(count: CallCount, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    count(error instanceof RpcError ? error.code : "UNKNOWN", 0, 0);
    throw error;
  }
}

const rpcSystems = {
  connect: "connect_rpc",
  "connect-stream": "connect_rpc",
  "grpc-web": "grpc_web",
  grpc: "grpc",
} as const satisfies Readonly<Record<CallProtocol, RpcSystem>>;

function messageOf({ type, compression }: WebCall, body: Buffer, maxRequestBodyBytes: number): Buffer {
  if (type.protocol === "connect")
    return compression.ofRequest === "gzip" && body.length > 0 ? decompress(body, maxRequestBodyBytes) : body;
  const frames = type.isBase64 ? decodeBase64(body) : body;
  const message = soleEnvelope(frames, { compression, tail: tails[type.protocol], maxRequestBodyBytes });
  // In a frame, no bytes are the message without fields, in JSON too.
  return message.length === 0 && type.codec === "json" ? emptyJson : message;
}

const emptyJson = Buffer.from("{}");
const tails: Readonly<Record<"connect-stream" | "grpc-web" | "grpc", RequestTail>> = {
  "connect-stream": "connect",
  "grpc-web": "grpc-web",
  grpc: "none",
};

function subscribe(call: WebCall, message: Buffer, options: ConnectListenerOptions): void {
  const { events, web } = options;
  const { procedure, type, answer, timeoutMs, exchange } = call;
  if (procedure.kind !== "stream") return;
  const count = callCount(call, message, options);
  countingFailure(count, () => {
    procedure.check[type.codec](message);
    events.checkSelector(exchange);
  });
  const out = answer.stream(count);
  events.subscribeHttp(out, procedure.dialect, type.codec);
  if (timeoutMs === undefined || timeoutMs > maxTimerMs) return;
  const cancel = web.clock.after(Math.max(0, timeoutMs), () =>
    out.end(clientDeadlineStatus(procedure.dialect)),
  );
  out.onClose(cancel);
}

function asFailure(error: unknown, logger: Pick<Logger, "error">): CallFailure {
  if (error instanceof RpcError && error.code !== "OK")
    return { code: error.code, message: error.message, trailers: error.trailers };
  logger.error({ error }, "an evaluation over HTTP failed");
  return { code: "UNKNOWN", message: "The agent failed to answer; its log says why.", trailers: {} };
}

/**
 * How long the client waits; undefined if it does not say.
 *
 * @throws RpcError INVALID_ARGUMENT
 */
function callTimeoutMs(protocol: CallProtocol, headers: RequestHeaders): number | undefined {
  const isGrpc = protocol === "grpc" || protocol === "grpc-web";
  const name = isGrpc ? "grpc-timeout" : "connect-timeout-ms";
  const text = headers.header(name) ?? "";
  if (text === "") return undefined;
  const timeoutMs = isGrpc ? parseGrpcTimeout(text) : parseConnectTimeout(text);
  if (timeoutMs === undefined)
    throw new RpcError("INVALID_ARGUMENT", `The request can't be read: ${name} is not a timeout.`);
  return timeoutMs;
}

/** Whole milliseconds in at most 10 characters. */
function parseConnectTimeout(text: string): number | undefined {
  return text.length <= 10 && /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
}
