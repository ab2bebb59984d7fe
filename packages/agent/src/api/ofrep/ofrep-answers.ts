import { randomUUID } from "node:crypto";
import { RpcError } from "@bunting/rpc";
import { etagOf, isNoneMatchFor, type RefusalReason } from "@bunting/server";
import type { Logger } from "@bunting/runtime";
import type { EvaluationContext, EvaluationErrorCode, Resolution } from "@bunting/evaluation";
import { AnswerSize } from "../answer-size.js";
import type { ApiMetrics } from "../api-metrics.js";
import type { FlagEvaluator, UnreadSources } from "../backend.js";
import { emptyContext, type ContextEnrichment } from "../context.js";
import { unreadMessage } from "../evaluation-error.js";
import { jsonHeaders } from "../http/json-body.js";
import { textHeader, type RequestHeaders } from "../request-headers.js";
import { selectorHeader, type Selection, type Selections } from "../selection.js";
import { eventStreamsMember, type EventStreamsOptions } from "../sse/event-streams-json.js";
import { parseOfrepContext } from "./ofrep-request.js";
import {
  errorJson,
  errorOf,
  errorStatus,
  failureJson,
  ofrepReasonOf,
  successJson,
} from "./ofrep-response.js";

export interface OfrepAnswersOptions {
  readonly evaluator: FlagEvaluator;
  readonly unread: UnreadSources;
  readonly selections: Selections;
  readonly context: ContextEnrichment;
  readonly metrics: ApiMetrics;
  readonly logger: Pick<Logger, "warn" | "error">;
  /** Undefined without `--ofrep-sse-enabled`. */
  readonly sse?: EventStreamsOptions | undefined;
}

export interface OfrepAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly json: string;
  /** The limit because of which the request is refused. */
  readonly refusal?: RefusalReason | undefined;
}

/** What an OFREP request is answered, however it came. */
export class OfrepAnswers {
  readonly #options: OfrepAnswersOptions;
  #hasWarned = false;

  constructor(options: OfrepAnswersOptions) {
    this.#options = options;
  }

  flag(key: string, body: Buffer, headers: RequestHeaders): OfrepAnswer {
    return this.#answer(key, body, headers, (selection, context) => this.#flag(key, selection, context));
  }

  /** The answer for all flags that are selected; without a body if the client's `if-none-match` has its ETag. */
  bulk(body: Buffer, headers: RequestHeaders, ifNoneMatch: string | undefined): OfrepAnswer {
    return this.#answer(undefined, body, headers, (selection, context) =>
      this.#bulk(selection, context, ifNoneMatch),
    );
  }

  #answer(
    key: string | undefined,
    body: Buffer,
    headers: RequestHeaders,
    evaluate: (selection: Selection, context: EvaluationContext) => OfrepAnswer,
  ): OfrepAnswer {
    const { selections, context, logger } = this.#options;
    try {
      const requested = this.#contextOf(body);
      if (requested === undefined) {
        const json = failureJson(key, "INVALID_CONTEXT", "Provider context is not valid");
        return { status: 400, headers: jsonHeaders, json };
      }
      const selection = selections.of(textHeader(headers, selectorHeader));
      return evaluate(selection, context.enrich(requested, headers));
    } catch (error) {
      if (error instanceof RpcError) {
        const isTooLarge = error.code === "RESOURCE_EXHAUSTED";
        const details = isTooLarge ? error.message : `invalid selector: ${error.message}`;
        const json = failureJson(key, "GENERAL", details);
        return { status: isTooLarge ? 500 : 400, headers: jsonHeaders, json, refusal: error.refusal };
      }
      const trackingId = randomUUID();
      logger.error({ error, trackingId }, "an evaluation over OFREP failed");
      const details = `error processing the evaluation. Tracking ID: ${trackingId}`;
      return { status: 500, headers: jsonHeaders, json: failureJson(key, "GENERAL", details) };
    }
  }

  #flag(key: string, selection: Selection, context: EvaluationContext): OfrepAnswer {
    const resolution = this.#options.evaluator.resolve(key, context, selection.select);
    const error = errorOf(resolution);
    if (error === "FLAG_NOT_FOUND" && this.#options.unread.mayLack(selection)) return this.#unread(key);
    const status = error === undefined ? 200 : errorStatus[error];
    return { status, headers: jsonHeaders, json: this.#countedJson(key, resolution, error, selection) };
  }

  #bulk(selection: Selection, context: EvaluationContext, ifNoneMatch: string | undefined): OfrepAnswer {
    const { evaluator, sse } = this.#options;
    const items: string[] = [];
    const size = new AnswerSize();
    for (const { flag, resolution } of evaluator.resolveAll(context, selection.select)) {
      const item = this.#countedJson(flag.key, resolution, errorOf(resolution, flag), selection);
      // Until they are joined, items share the text of their metadata.
      size.add(item.length);
      items.push(item);
    }
    if (items.length === 0 && this.#options.unread.mayLack(selection)) return this.#unread(undefined);
    const events = sse === undefined ? "" : eventStreamsMember(selection.text, sse);
    const json = `{"flags":[${items.join(",")}],"metadata":${selection.metadata.json}${events}}`;
    const etag = etagOf(json);
    if (isNoneMatchFor(ifNoneMatch, etag)) return { status: 304, headers: { etag }, json: "" };
    return { status: 200, headers: { ...jsonHeaders, etag }, json };
  }

  /** The answer as long as a source that could have the flag, or all flags, has not answered. */
  #unread(key: string | undefined): OfrepAnswer {
    if (key !== undefined) this.#options.metrics.ofrepEvaluationFailed(key, "PROVIDER_NOT_READY");
    return { status: 503, headers: jsonHeaders, json: failureJson(key, "GENERAL", unreadMessage) };
  }

  /** The answer to an evaluation, which is counted. */
  #countedJson(
    key: string,
    resolution: Resolution,
    error: EvaluationErrorCode | undefined,
    selection: Selection,
  ): string {
    const { metrics } = this.#options;
    const metadata = selection.metadataOf(resolution.metadata);
    if (error !== undefined) {
      metrics.ofrepEvaluationFailed(key, error);
      return errorJson(key, error, metadata);
    }
    metrics.ofrepEvaluated(key, ofrepReasonOf(resolution), resolution.variant ?? "");
    return successJson(key, resolution, metadata);
  }

  /** Undefined if the request's context is invalid. */
  #contextOf(body: Buffer): EvaluationContext | undefined {
    const context = parseOfrepContext(body);
    if (context === "invalid") return undefined;
    if (context !== "not-an-object") return context;
    // Once: a client that sends one does so with every request.
    if (!this.#hasWarned)
      this.#options.logger.warn("an OFREP request has a context that is not an object: evaluated without it");
    this.#hasWarned = true;
    return emptyContext;
  }
}
