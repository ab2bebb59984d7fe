import { randomUUID } from "node:crypto";
import type { RequestListener } from "node:http";
import { RpcError } from "@bunting/rpc";
import type { Clock, Logger } from "@bunting/runtime";
import type { EvaluationContext, EvaluationErrorCode, Resolution } from "@bunting/evaluation";
import { AnswerSize } from "../answer-size.js";
import type { ApiMetrics } from "../api-metrics.js";
import { challenge, unadmitted, type Callers } from "../callers.js";
import type { FlagEvaluator } from "../backend.js";
import { emptyContext, type ContextEnrichment } from "../context.js";
import { etagOf, isNoneMatchFor } from "../http/etag.js";
import type { Cors } from "../http/cors.js";
import { HttpExchange, type HttpExchangeOptions } from "../http/http-exchange.js";
import { parseOfrepTarget, type OfrepTarget } from "./ofrep-path.js";
import { parseOfrepContext } from "./ofrep-request.js";
import { errorJson, errorOf, errorStatus, failureJson, reasonOf, successJson } from "./ofrep-response.js";
import { longRequestBytes, type LongRequests } from "../long-requests.js";
import { jsonHeaders } from "../http/json-body.js";
import { readBody } from "../http/request-body.js";
import { textHeader } from "../request-headers.js";
import { eventStreamsMember, ssePath, type EventStreamsOptions } from "../sse/event-streams-json.js";
import type { SseStreams } from "../sse/sse-streams.js";
import { selectorHeader, type Selection, type Selections } from "../selection.js";

export interface OfrepListenerOptions {
  readonly evaluator: FlagEvaluator;
  readonly selections: Selections;
  readonly context: ContextEnrichment;
  readonly cors: Cors;
  readonly callers?: Callers | undefined;
  readonly metrics: ApiMetrics;
  /** Shared by all ports. */
  readonly longRequests: LongRequests;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn" | "error">;
  /** `--max-request-body`, in bytes; 0 means no limit. */
  readonly maxRequestBodyBytes: number;
  /** Undefined without `--ofrep-sse-enabled`. */
  readonly sse?: OfrepEvents | undefined;
}

/** The streams of events, and where answers for all flags say they are. */
export interface OfrepEvents extends EventStreamsOptions {
  readonly streams: SseStreams;
}

const notFound = `{"errorDetails":"not found: expected POST /ofrep/v1/evaluate/flags or /ofrep/v1/evaluate/flags/<key>"}`;
const unauthorized = JSON.stringify({ errorDetails: unadmitted });
const badRequest = `{"errorDetails":"bad request: the path has an escape that is not %XX"}`;
/** The names under which flagd counts requests. */
const flagRoute = "/ofrep/v1/evaluate/flags/{key}";
const bulkRoute = "/ofrep/v1/evaluate/{path:flags\\/|flags}";
const bodyTooLarge = `{"errorDetails":"request body too large"}`;

/** The OpenFeature Remote Evaluation Protocol: one flag, or all of a set with an ETag. */
export function createOfrepListener(options: OfrepListenerOptions): RequestListener {
  const { metrics, clock, cors, callers } = options;
  const exchangeOptions: HttpExchangeOptions = { service: "ofrep", metrics, clock, cors, callers };
  const contextOf = createContextReader(options);
  return (request, response) => {
    const exchange = new HttpExchange(request, response, exchangeOptions);
    if (exchange.answersPreflight()) return;
    if (!exchange.isAdmitted()) {
      exchange.refuse(401, { ...jsonHeaders, ...challenge }, unauthorized);
      return;
    }
    const target = parseOfrepTarget(request.url ?? "");
    switch (target.kind) {
      case "unknown":
        exchange.refuse(404, jsonHeaders, notFound);
        return;
      case "malformed":
        exchange.refuseMalformed({ ...jsonHeaders, ...exchange.closing() }, badRequest);
        return;
      case "redirect":
        exchange.refuse(301, { location: target.location }, "");
        return;
      case "events":
        if (options.sse === undefined) exchange.refuse(404, jsonHeaders, notFound);
        else subscribe(exchange, target.selector, options.sse.streams, options);
        return;
      case "bulk":
        exchange.route = bulkRoute;
        break;
      case "flag":
        exchange.route = flagRoute;
    }
    if (request.method !== "POST") {
      exchange.refuse(405, {}, "");
      return;
    }
    readBody(
      exchange,
      options.maxRequestBodyBytes,
      (body) => {
        const reply = (): void => answer(exchange, target, body, contextOf, options);
        if (target.kind === "bulk" || body.length > longRequestBytes)
          exchange.answerInTurn(options.longRequests, body.length, reply);
        else reply();
      },
      () => exchange.reply(413, { ...jsonHeaders, ...exchange.closing() }, bodyTooLarge),
    );
  };
}

function subscribe(
  exchange: HttpExchange,
  selector: string | undefined,
  streams: SseStreams,
  { selections }: OfrepListenerOptions,
): void {
  exchange.route = ssePath;
  if (exchange.request.method !== "GET") {
    exchange.refuse(405, { allow: "GET" }, "");
    return;
  }
  exchange.request.resume();
  try {
    streams.subscribe(exchange, selections.of(textHeader(exchange, selectorHeader) ?? selector));
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const details = `invalid selector: ${error.message}`;
    exchange.reply(400, jsonHeaders, failureJson(undefined, "GENERAL", details));
  }
}

function answer(
  exchange: HttpExchange,
  target: OfrepTarget,
  body: Buffer,
  contextOf: ContextReader,
  options: OfrepListenerOptions,
): void {
  const key = target.kind === "flag" ? target.key : undefined;
  try {
    const requested = contextOf(body);
    if (requested === undefined) {
      exchange.reply(400, jsonHeaders, failureJson(key, "INVALID_CONTEXT", "Provider context is not valid"));
      return;
    }
    const selection = options.selections.of(textHeader(exchange, selectorHeader));
    const context = options.context.enrich(requested, exchange);
    if (key === undefined) answerBulk(exchange, selection, context, options);
    else answerFlag(exchange, key, selection, context, options);
  } catch (error) {
    if (error instanceof RpcError) {
      exchange.countRefusal(error.refusal);
      const isTooLarge = error.code === "RESOURCE_EXHAUSTED";
      const details = isTooLarge ? error.message : `invalid selector: ${error.message}`;
      exchange.reply(isTooLarge ? 500 : 400, jsonHeaders, failureJson(key, "GENERAL", details));
      return;
    }
    const trackingId = randomUUID();
    options.logger.error({ error, trackingId }, "an evaluation over OFREP failed");
    const details = `error processing the evaluation. Tracking ID: ${trackingId}`;
    exchange.reply(500, jsonHeaders, failureJson(key, "GENERAL", details));
  }
}

function answerFlag(
  exchange: HttpExchange,
  key: string,
  selection: Selection,
  context: EvaluationContext,
  { evaluator, metrics }: OfrepListenerOptions,
): void {
  const resolution = evaluator.resolve(key, context, selection.select);
  const error = errorOf(resolution);
  const status = error === undefined ? 200 : errorStatus[error];
  exchange.reply(status, jsonHeaders, countedJson(key, resolution, error, selection, metrics));
}

function answerBulk(
  exchange: HttpExchange,
  selection: Selection,
  context: EvaluationContext,
  { evaluator, metrics, sse }: OfrepListenerOptions,
): void {
  const items: string[] = [];
  const size = new AnswerSize();
  for (const { flag, resolution } of evaluator.resolveAll(context, selection.select)) {
    const item = countedJson(flag.key, resolution, errorOf(resolution, flag), selection, metrics);
    // Until they are joined, items share the text of their metadata.
    size.add(item.length);
    items.push(item);
  }
  const events = sse === undefined ? "" : eventStreamsMember(selection.text, sse);
  const body = `{"flags":[${items.join(",")}],"metadata":${selection.metadata.json}${events}}`;
  const etag = etagOf(body);
  if (isNoneMatchFor(exchange.request.headers["if-none-match"], etag)) exchange.reply(304, { etag }, "");
  else exchange.reply(200, { ...jsonHeaders, etag }, body);
}

/** The answer to an evaluation, which is counted. */
function countedJson(
  key: string,
  resolution: Resolution,
  error: EvaluationErrorCode | undefined,
  selection: Selection,
  metrics: ApiMetrics,
): string {
  const metadata = selection.metadataOf(resolution.metadata);
  if (error !== undefined) {
    metrics.ofrepEvaluationFailed(key, error);
    return errorJson(key, error, metadata);
  }
  metrics.ofrepEvaluated(key, reasonOf(resolution), resolution.variant ?? "");
  return successJson(key, resolution, metadata);
}

/** Undefined if the request's context is invalid. */
type ContextReader = (body: Buffer) => EvaluationContext | undefined;

function createContextReader({ logger }: OfrepListenerOptions): ContextReader {
  let hasWarned = false;
  return (body) => {
    const context = parseOfrepContext(body);
    if (context === "invalid") return undefined;
    if (context !== "not-an-object") return context;
    // Once: a client that sends one does so with every request.
    if (!hasWarned) logger.warn("an OFREP request has a context that is not an object: evaluated without it");
    hasWarned = true;
    return emptyContext;
  };
}
