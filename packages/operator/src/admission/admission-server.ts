import type { IncomingMessage, ServerResponse } from "node:http";
import {
  HttpExchange,
  PeerMemory,
  PortListener,
  readBody,
  TlsTermination,
  type ExchangeMetrics,
  type ListenEndpoint,
  type TlsMetrics,
} from "@bunting/server";
import { aborted, Semaphore, within, type Context, type Runnable } from "@bunting/runtime";
import type { CertificateSource } from "../certificates/certificate-source.js";
import type { AdmissionHandler, Webhook } from "./admission-handler.js";
import type { AdmissionMetrics } from "./admission-metrics.js";

export interface AdmissionServerOptions {
  readonly endpoint: ListenEndpoint;
  /** Hands out its first pair only after the server was made. */
  readonly certificate: CertificateSource;
  readonly handler: AdmissionHandler;
  readonly context: Context<
    Pick<AdmissionMetrics, "admissionTook" | "admissionsRefused"> & {
      readonly tls: Pick<TlsMetrics, "handshake">;
    }
  >;
  /** The most memory that clients may make the server hold. Default 48 MiB. */
  readonly peerMemoryBytes?: number;
  /** For how long it serves on before it stops: API servers hear only then that this replica goes. Default 3 s. */
  readonly lingerMs?: number;
}

/** A review carries an object of up to 3 MB, twice where it is changed, and some metadata. */
const maxReviewBytes = 7 * 1024 * 1024;
const defaultPeerMemoryBytes = 48 * 1024 * 1024;
/** Time for reviews that are under way when it stops: more than the API server waits for them. */
const drainMs = 4_000;
/** API servers keep idle connections for 90 s. They must be the ones to close them: a review that they send meanwhile is lost, and a Pod with it. */
const idleTimeoutMs = 120_000;
/** Larger ones take turns. */
const largeReviewBytes = 128 * 1024;
const json = { "content-type": "application/json" };
const text = { "content-type": "text/plain; charset=utf-8" };

/**
 * The HTTPS port that API servers call. They speak HTTP/1.1 to it, over connections that they keep: over HTTP/2 all would go to one replica.
 *
 * Anybody who reaches the port can send a request, because API servers show no certificate by default; but only who knows a key of the paths is
 * answered: a review about a Pod is answered with what the Injection of its namespace has for the text. What is held for a connection is charged to it.
 */
export class AdmissionServer implements Runnable {
  readonly name = "admission";
  readonly #options: AdmissionServerOptions;
  readonly #listener: PortListener;
  /** One large review of a webhook at a time: parsed, it takes many times its size. */
  readonly #largeReviews = new Map<Webhook, Semaphore>();
  readonly #exchangeMetrics: ExchangeMetrics;
  #isStopping = false;

  constructor(options: AdmissionServerOptions) {
    const { endpoint, certificate, context, peerMemoryBytes = defaultPeerMemoryBytes } = options;
    const { metrics, logger } = context;
    this.#options = options;
    this.#exchangeMetrics = {
      httpRequest: () => undefined,
      httpActiveRequests: () => undefined,
      requestRefused: () => metrics.admissionsRefused(),
    };
    const onHandshake: TlsMetrics["handshake"] = (result) => metrics.tls.handshake(result);
    this.#listener = new PortListener({
      endpoint,
      optionName: "--webhook-port",
      logger,
      tls: new TlsTermination({ certificate, onHandshake }, ["http/1.1"]),
      memory: new PeerMemory(peerMemoryBytes, "idle"),
      idleTimeoutMs,
      http: (request, response) => this.#serve(request, response),
      onRefused: () => metrics.admissionsRefused(),
    });
  }

  /** The port in use, once it listens. */
  get port(): number {
    return this.#listener.port;
  }

  /** Rejects with a message for the user if the port can't be had. */
  listen(): Promise<void> {
    return this.#listener.listen();
  }

  /**
   * Serves until the signal aborts, and some seconds longer, in which it asks API servers to leave. `listen` comes first.
   */
  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    this.#isStopping = true;
    const { lingerMs = 3_000, context } = this.#options;
    await new Promise<void>((resolve) => context.clock.after(lingerMs, resolve));
    await within(drainMs, this.#listener.stopListening(), context.clock);
    await this.#listener.close();
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { handler, context } = this.#options;
    const exchange = new HttpExchange(request, response, {
      service: "admission",
      metrics: this.#exchangeMetrics,
      clock: context.clock,
    });
    const webhook = handler.webhookAt(exchange.path);
    if (webhook === undefined) {
      exchange.refuse(404, { ...text, ...exchange.closing() }, "There is no webhook at this path.\n");
      return;
    }
    exchange.route = webhook.name;
    if (request.method !== "POST") {
      exchange.refuse(405, { ...text, allow: "POST" }, "A webhook is called by POST.\n");
      return;
    }
    const onBody = (body: Buffer): void => {
      void this.#review(webhook, exchange, body);
    };
    readBody(exchange, maxReviewBytes, onBody, (headers) => {
      exchange.reply(413, { ...text, ...headers }, `A review has at most ${maxReviewBytes} bytes.\n`);
    });
  }

  async #review(webhook: Webhook, exchange: HttpExchange, body: Buffer): Promise<void> {
    const { handler, context } = this.#options;
    const startedMs = context.clock.monotonicMs() - exchange.elapsedMs;
    const review = async (): Promise<void> => {
      const { status, body: answer } = await handler.handle(webhook, body, startedMs);
      const headers = status === 200 ? json : text;
      exchange.reply(status, this.#isStopping ? { ...headers, ...exchange.closing() } : headers, answer);
      context.metrics.admissionTook(webhook.name, exchange.elapsedMs);
    };
    if (body.length <= largeReviewBytes) return review();
    // While it waits, it is charged to its connection.
    exchange.charge(body.length);
    const turn = this.#largeReviews.get(webhook) ?? new Semaphore(1);
    this.#largeReviews.set(webhook, turn);
    await turn.run(async () => {
      if (!exchange.isOpen) return;
      exchange.willParse(body.length);
      await review();
    });
    exchange.release();
  }
}
