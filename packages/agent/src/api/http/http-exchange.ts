import type { IncomingMessage, ServerResponse } from "node:http";
import { accountOf } from "@bunting/rpc";
import type { Clock } from "@bunting/runtime";
import type { ApiMetrics, HttpServiceName } from "../api-metrics.js";
import type { LongRequests } from "../long-requests.js";
import type { RequestHeaders } from "../request-headers.js";

export interface HttpExchangeOptions {
  readonly service: HttpServiceName;
  readonly metrics: ApiMetrics;
  readonly clock: Clock;
}

/** An answer that is not charged: what a connection is charged for anyway covers it. */
const smallBytes = 4 * 1024;

/** Over HTTP/2 a method may be any text; as in OpenTelemetry, unknown ones are counted as one. */
const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]);

/** One HTTP request and its answer, measured. */
export class HttpExchange implements RequestHeaders {
  readonly request: IncomingMessage;
  /** The request's path without its query. */
  readonly path: string;
  /** What the request is counted under: one of few names, never a path that a client made up. */
  route = "";
  readonly #response: ServerResponse;
  readonly #options: HttpExchangeOptions;
  readonly #startedMs: number;
  #chargedBytes = 0;
  #isClosed = false;

  constructor(request: IncomingMessage, response: ServerResponse, options: HttpExchangeOptions) {
    this.request = request;
    this.path = pathOf(request.url ?? "");
    this.#response = response;
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
    options.metrics.httpActiveRequests(options.service, 1);
    response.once("close", () => this.#closed());
  }

  /** Charges the connection for bytes that are held for this request, until its end. */
  charge(bytes: number): void {
    if (this.#isClosed) return;
    this.#chargedBytes += bytes;
    accountOf(this.request)?.charge(bytes);
  }

  /** Takes back everything that was charged. */
  release(): void {
    if (this.#chargedBytes === 0) return;
    accountOf(this.request)?.release(this.#chargedBytes);
    this.#chargedBytes = 0;
  }

  /** Calls `answer` when the turn of this request has come, unless its client has gone by then. Its body is charged until then. */
  answerInTurn(longRequests: LongRequests, bodyBytes: number, answer: () => void): void {
    if (bodyBytes > smallBytes) this.charge(bodyBytes);
    longRequests.run(() => {
      if (this.#isClosed) return;
      this.release();
      answer();
    });
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    if (value === undefined) return undefined;
    // Node joins repeated headers with a comma: only a value with one can have several.
    if (typeof value === "string" && !value.includes(",")) return value;
    // Not `headersDistinct`, which requests over HTTP/2 do not have.
    const { rawHeaders } = this.request;
    const at = rawHeaders.findIndex((each, i) => i % 2 === 0 && each.toLowerCase() === name);
    return at === -1 ? (typeof value === "string" ? value : value[0]) : rawHeaders[at + 1];
  }

  /** Answers; does nothing if the client has gone. `headers` is not modified and may be shared. */
  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    const response = this.#response;
    if (response.destroyed || response.headersSent) return;
    const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    // No content-length with 304: by RFC 9110 it would be the length of the 200.
    response.writeHead(status, status === 304 ? { ...headers } : { ...headers, "content-length": bytes });
    response.end(body);
    // Over HTTP/1.1 the system has usually taken all of it by now.
    if (bytes > smallBytes && response.writableLength > 0) this.charge(bytes);
    const { service, metrics, clock } = this.#options;
    const method = knownMethods.has(this.request.method ?? "") ? (this.request.method ?? "") : "_OTHER";
    metrics.httpRequest(service, this.route, method, status, clock.monotonicMs() - this.#startedMs, bytes);
  }

  /** Answers without reading the request's body. */
  refuse(status: number, headers: Readonly<Record<string, string>>, body: string): void {
    this.request.resume();
    this.reply(status, headers, body);
  }

  #closed(): void {
    this.#isClosed = true;
    this.release();
    const { metrics, service } = this.#options;
    metrics.httpActiveRequests(service, -1);
  }

  /** The headers that end the connection after the answer. HTTP/2 has none. */
  closing(): Readonly<Record<string, string>> {
    return this.request.httpVersionMajor > 1 ? {} : { connection: "close" };
  }
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}
