import type { RequestListener } from "node:http";
import { RpcError } from "@bunting/rpc";
import { challenge, unadmitted } from "../callers.js";
import { HttpExchange, type HttpExchangeOptions, longRequestBytes, readBody } from "@bunting/server";
import { jsonHeaders } from "../http/json-body.js";
import { textHeader } from "../request-headers.js";
import { selectorHeader, type Selections } from "../selection.js";
import { ssePath, type EventStreamsOptions } from "../sse/event-streams-json.js";
import type { SseStreams } from "../sse/sse-streams.js";
import type { OfrepAnswers } from "./ofrep-answers.js";
import { parseOfrepTarget, type OfrepTarget } from "./ofrep-path.js";
import { failureJson } from "./ofrep-response.js";
import type { WebApi } from "../http/web-api.js";

export interface OfrepListenerOptions {
  readonly answers: OfrepAnswers;
  readonly selections: Selections;
  readonly web: WebApi;
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
export const flagRoute = "/ofrep/v1/evaluate/flags/{key}";
const bulkRoute = "/ofrep/v1/evaluate/{path:flags\\/|flags}";
const bodyTooLarge = `{"errorDetails":"request body too large"}`;

/** The OpenFeature Remote Evaluation Protocol: one flag, or all of a set with an ETag. */
export function createOfrepListener(options: OfrepListenerOptions): RequestListener {
  const { answers, web } = options;
  const exchangeOptions: HttpExchangeOptions = { service: "ofrep", ...web };
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
      options.web.maxRequestBodyBytes,
      (body) => {
        const reply = (): void => answer(exchange, target, body, answers);
        if (target.kind === "bulk" || body.length > longRequestBytes)
          exchange.answerInTurn(options.web.longRequests, body.length, reply);
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

function answer(exchange: HttpExchange, target: OfrepTarget, body: Buffer, answers: OfrepAnswers): void {
  const { status, headers, json, refusal } =
    target.kind === "flag"
      ? answers.flag(target.key, body, exchange)
      : answers.bulk(body, exchange, exchange.request.headers["if-none-match"]);
  exchange.countRefusal(refusal);
  exchange.reply(status, headers, json);
}
