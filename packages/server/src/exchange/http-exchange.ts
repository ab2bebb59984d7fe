import type { IncomingMessage, ServerResponse } from "node:http";
import { accountOf, spendAnswer } from "@bunting/http2";
import type { RefusalReason } from "@bunting/http2/status";
import type { Clock } from "@bunting/runtime";
import { authorizationOf } from "../port/authorization-of.js";
import type { LongRequestQueue } from "./long-request-queue.js";

/** One request over HTTP, as it ended. */
export interface HttpRequestRecord {
  readonly method: string;
  /** The answer that was really sent. */
  readonly status: number;
  readonly durationMs: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly httpVersion: string;
  /** The Host header. */
  readonly host: string;
}

/** Counts of requests over HTTP. */
export interface ExchangeMetrics {
  /** `http.server.request.duration` and `http.server.response.body.size`; "" is the route of a request that has none. */
  httpRequest(service: string, route: string, record: HttpRequestRecord): void;
  /** `http.server.active_requests`: 1 when a request's route is known, -1 when it is answered or its client has gone. */
  httpActiveRequests(route: string, method: string, change: 1 | -1): void;
  /** A request was refused, or ended early, by a limit. */
  requestRefused(reason: RefusalReason): void;
}

/** CORS: the answers to browsers about calls from other origins. */
export interface Cors {
  /** The headers of the answer to a preflight; undefined if the request is none. */
  preflight(request: IncomingMessage): Headers | undefined;
  /** The headers to add to the answer of any other request. */
  headers(request: IncomingMessage): Headers;
}

/** Callers that are accepted. */
export interface Callers {
  /** True if a request with this `authorization` is answered; refused ones are counted. */
  admits(authorization: string | undefined): boolean;
}

export interface HttpExchangeOptions {
  /** Under which name the requests are counted. */
  readonly service: string;
  readonly metrics: ExchangeMetrics;
  readonly clock: Clock;
  /** Absent: no CORS headers, so browsers call from the same origin only. */
  readonly cors?: Cors | undefined;
  /** Absent: anybody is answered. */
  readonly callers?: Callers | undefined;
}

type Headers = Readonly<Record<string, string>>;

/** An answer that is not charged: what a connection is charged for anyway covers it. */
const smallBytes = 4 * 1024;
/** From this size on, what parsing a body leaves behind counts. */
const parsedBytes = 64 * 1024;
/** Heap for parsing, relative to the text: small values take the most. */
const parsedFactor = 8;
/** What an answer that goes on takes while nothing is sent: node's request and response. Over HTTP/2 it is charged in addition to the stream. */
const openAnswerBytes = 4 * 1024;

const none: Headers = {};

/** Over HTTP/2 a method may be any text; as in OpenTelemetry, unknown ones are counted as one. */
const knownMethods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]);

/** One HTTP request and its answer, measured. */
export class HttpExchange {
  readonly request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: HttpExchangeOptions;
  readonly #startedMs: number;
  #path: string | undefined;
  #route = "";
  /** Bytes that the connection is charged for this request, until `release` or its end. */
  #chargedBytes = 0;
  /** The answer in pieces, if it is one, with its bytes so far. */
  #begun: { readonly status: number; bytes: number } | undefined;
  /** The answer was sent, or the client has gone. */
  #isClosed = false;

  constructor(request: IncomingMessage, response: ServerResponse, options: HttpExchangeOptions) {
    this.request = request;
    this.#response = response;
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
    // `on` is cheaper than `once`, and the event comes once.
    response.on("close", () => this.#closed());
  }

  /** The request's path without its query. */
  get path(): string {
    return (this.#path ??= pathOf(this.request.url ?? ""));
  }

  /** Name that the request is counted under: one of few, never a path that a client made up. */
  get route(): string {
    return this.#route;
  }

  set route(route: string) {
    this.#route = route;
    this.#options.metrics.httpActiveRequests(route, this.#method(), 1);
  }

  /** Since the request's headers came. */
  get elapsedMs(): number {
    return this.#options.clock.monotonicMs() - this.#startedMs;
  }

  /** Charges the connection for bytes of this request, until its end. */
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

  /**
   * To be called with the size of a body, inflated, that is about to be parsed. Its values are garbage when the answer is made, in the same turn:
   * the connection is charged for a moment only, so that room is made, or the connection is ended, before they are on the heap.
   */
  willParse(bytes: number): void {
    if (bytes < parsedBytes) return;
    const account = accountOf(this.request);
    account?.charge(bytes * parsedFactor);
    account?.release(bytes * parsedFactor);
  }

  /** Calls `answer` when the turn of this request has come, unless its client has gone by then. Its body is charged until then. */
  answerInTurn(longRequests: LongRequestQueue, bodyBytes: number, answer: () => void): void {
    if (bodyBytes > smallBytes) this.charge(bodyBytes);
    const takeBack = longRequests.run(() => {
      if (this.#isClosed) return;
      this.release();
      this.willParse(bodyBytes);
      answer();
    });
    this.onClose(takeBack);
  }

  /** A header by its lower-case name; the first value where there are several. */
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

  /** Answers a preflight of CORS; false if the request is none. */
  answersPreflight(): boolean {
    const headers = this.#options.cors?.preflight(this.request);
    if (headers === undefined) return false;
    this.request.resume();
    this.#answer(204, headers, none, "");
    return true;
  }

  /** True if this client is answered; preflights always are. */
  isAdmitted(): boolean {
    const { callers } = this.#options;
    return callers === undefined || callers.admits(authorizationOf(this.request));
  }

  /** Answers; does nothing if the client has gone. `headers` is not modified and may be shared. */
  reply(status: number, headers: Headers, body: string | Buffer, trailers?: Headers): void {
    this.#answer(status, this.#corsHeaders(), headers, body, trailers);
  }

  /** Counts that this request is refused because of a limit, if it is. */
  countRefusal(reason: RefusalReason | undefined): void {
    if (reason !== undefined) this.#options.metrics.requestRefused(reason);
  }

  /** Answers without reading the request's body. */
  refuse(status: number, headers: Headers, body: string): void {
    this.request.resume();
    this.reply(status, headers, body);
  }

  /** Refuses a request whose target can't be read, before anything that looks at it: without the headers of CORS. */
  refuseMalformed(headers: Headers, body: string): void {
    this.request.resume();
    this.#answer(400, headers, none, body);
  }

  #corsHeaders(): Headers {
    return this.#options.cors?.headers(this.request) ?? none;
  }

  #answer(status: number, first: Headers, others: Headers, body: string | Buffer, trailers?: Headers): void {
    const response = this.#response;
    if (response.destroyed || response.headersSent) return;
    const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.length;
    if (bytes > smallBytes) spendAnswer(this.request, bytes);
    // No content-length with 304: by RFC 9110 it would be the length of the 200. Over HTTP/1.1, trailers need a body in chunks.
    const hasLength = status !== 304 && status !== 204 && trailers === undefined;
    response.writeHead(
      status,
      hasLength ? { ...first, ...others, "content-length": bytes } : { ...first, ...others },
    );
    if (trailers !== undefined) response.addTrailers(trailers);
    // As many bytes as characters: all of it is ASCII, and need not be encoded.
    if (typeof body === "string" && bytes === body.length) response.end(body, "latin1");
    else response.end(body);
    // Over HTTP/1.1 the system has usually taken all of it by now.
    if (bytes > smallBytes && response.writableLength > 0) this.charge(bytes);
    this.#count(status, bytes);
  }

  /** Begins a stream of events, an answer in pieces; it is counted when it has ended. */
  begin(status: number, headers: Headers): void {
    const response = this.#response;
    if (response.destroyed || response.headersSent) return;
    this.#begun = { status, bytes: 0 };
    this.charge(openAnswerBytes);
    accountOf(this.request)?.beginStream();
    response.writeHead(status, { ...this.#corsHeaders(), ...headers });
    response.flushHeaders();
  }

  /** Sends a piece, which is not charged. */
  write(piece: Uint8Array, onWritten?: (error?: Error) => void): void {
    const begun = this.#begun;
    if (begun === undefined || !this.isOpen) return;
    begun.bytes += piece.length;
    this.#response.write(piece, (error) => onWritten?.(error ?? undefined));
  }

  /** Ends an answer in pieces. */
  end(last: Uint8Array | undefined, trailers?: Headers): void {
    const response = this.#response;
    if (!this.isOpen) return;
    if (trailers !== undefined) response.addTrailers(trailers);
    if (this.#begun !== undefined) this.#begun.bytes += last?.length ?? 0;
    if (last === undefined) response.end();
    else response.end(last);
  }

  /** False once the answer has ended in any way. */
  get isOpen(): boolean {
    return !this.#isClosed && !this.#response.destroyed && !this.#response.writableEnded;
  }

  /** The listener is called once, after the answer was sent or the client has gone. */
  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#response.once("close", listener);
  }

  #closed(): void {
    this.#isClosed = true;
    this.release();
    if (this.#begun !== undefined) accountOf(this.request)?.endStream();
    const { metrics } = this.#options;
    if (this.#route !== "") metrics.httpActiveRequests(this.#route, this.#method(), -1);
    if (this.#begun !== undefined) this.#count(this.#begun.status, this.#begun.bytes);
  }

  #method(): string {
    const { method = "" } = this.request;
    return knownMethods.has(method) ? method : "_OTHER";
  }

  #count(status: number, bytes: number): void {
    const { service, metrics } = this.#options;
    metrics.httpRequest(service, this.#route, {
      method: this.#method(),
      status,
      durationMs: this.elapsedMs,
      requestBytes: Number(this.request.headers["content-length"] ?? 0) || 0,
      responseBytes: bytes,
      httpVersion: this.request.httpVersion,
      host: this.request.headers.host ?? "",
    });
  }

  /** The headers that end the connection after the answer. HTTP/2 has none. */
  closing(): Headers {
    return this.request.httpVersionMajor > 1 ? {} : { connection: "close" };
  }
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}
