import { matches, readRequest, type ApiRequest, type Match } from "./faulty-api-server/api-request.js";
import type { Exchange } from "./faulty-api-server/exchange.js";
import {
  FaultScript,
  type ArmedFault,
  type Fault,
  type WatchFault,
} from "./faulty-api-server/fault-script.js";
import { HttpsListener } from "./faulty-api-server/https-listener.js";
import { OpenWatch } from "./faulty-api-server/open-watch.js";
import { testTls } from "./faulty-api-server/test-tls.js";
import { passedOn, UpstreamSession, type UpstreamAnswer } from "./fault-proxy-upstream.js";

export interface Http2FaultProxyOptions {
  /** `https://host:port` of the real server. */
  readonly upstream: string;
  /** PEM of the authority that signed the upstream's certificate. */
  readonly ca: string | Buffer;
  readonly maxConcurrentStreams?: number;
  /** The upstream's own certificate and key, for clients that must trust this proxy as they trust the upstream; else one signed by `ca`. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer };
}

/**
 * Terminates TLS and HTTP/2 in front of a real API server and opens its own connection for each incoming one, so that faults can affect
 * single streams and single lines of a watch. Everything else passes unchanged: requests with their headers, answers, how they end,
 * GOAWAY, and a broken connection. Watches pass line by line.
 */
export class Http2FaultProxy {
  readonly requests: ApiRequest[] = [];
  readonly #options: Http2FaultProxyOptions;
  readonly #listener: HttpsListener;
  readonly #faults = new FaultScript<Fault>();
  readonly #watchFaults = new FaultScript<WatchFault>();
  readonly #watches = new Set<OpenWatch>();
  readonly #upstreams = new Map<object, Promise<UpstreamSession>>();

  private constructor(options: Http2FaultProxyOptions) {
    this.#options = options;
    const { maxConcurrentStreams = 100, tls } = options;
    this.#listener = new HttpsListener({
      maxConcurrentStreams,
      ...(tls === undefined ? {} : { tls }),
      onExchange: (exchange) => void this.#serve(exchange).catch(() => exchange.reset()),
      onConnectionClosed: (connection) => void this.#drop(connection),
    });
  }

  static async start(options: Http2FaultProxyOptions): Promise<Http2FaultProxy> {
    const proxy = new Http2FaultProxy(options);
    await proxy.#listener.listen();
    return proxy;
  }

  get port(): number {
    return this.#listener.port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** PEM of the authority that signed the proxy's own certificate. */
  get ca(): Buffer {
    return testTls.ca;
  }

  get caFile(): string {
    return testTls.caFile;
  }

  get connections(): number {
    return this.#listener.connections;
  }

  /** Applies a fault to the next `times` requests that match; see `faults`. Faults that were added earlier come first. */
  fault(match: Match, fault: Fault, times = 1): ArmedFault {
    return this.#faults.arm(match, fault, times);
  }

  /** Called with the next watches that match, after their headers and before their first line, to hold, delay or slow them. */
  onWatch(match: Match, fault: WatchFault, times = 1): ArmedFault {
    return this.#watchFaults.arm(match, fault, times);
  }

  clearFaults(): void {
    this.#faults.clear();
    this.#watchFaults.clear();
  }

  /** Open watches, in the order they were opened. */
  watches(match: Match = {}): readonly OpenWatch[] {
    return [...this.#watches].filter((watch) => !watch.isClosed && matches(match, watch.request));
  }

  /** GOAWAY on every session; open streams go on. */
  goAway(): void {
    this.#listener.goAway();
  }

  /** RST on every client connection. */
  cut(): void {
    this.#listener.cut();
  }

  /** Cuts everything and refuses connections, until `resume`. */
  async stop(): Promise<void> {
    await this.#listener.stop();
  }

  async resume(): Promise<void> {
    await this.#listener.listen();
  }

  async close(): Promise<void> {
    await this.stop();
    await Promise.all([...this.#upstreams.keys()].map(async (connection) => this.#drop(connection)));
  }

  async #serve(exchange: Exchange): Promise<void> {
    const request = readRequest(exchange.method, exchange.uri, exchange.headers);
    this.requests.push(request);
    const fault = this.#faults.take(request);
    if (fault !== undefined && (await fault(exchange, request)) === "handled") return;
    const body = ["POST", "PUT", "PATCH"].includes(exchange.method) ? await exchange.body() : undefined;
    const upstream = await this.#upstreamOf(exchange);
    if (exchange.isClosed) return;
    const answer = upstream.request(exchange, body);
    const head = await answer.head;
    if (head === undefined) {
      exchange.reset(answer.resetCode);
      return;
    }
    const status = Number(head[":status"]);
    const isWatch = request.kind === "watch" || request.kind === "watchlist";
    exchange.head(status, passedOn(head));
    if (isWatch && status === 200) await this.#relay(answer, exchange, request);
    else await relayBytes(answer, exchange);
    if (!answer.isWhole) exchange.reset(answer.resetCode);
  }

  async #relay(answer: UpstreamAnswer, exchange: Exchange, request: ApiRequest): Promise<void> {
    const watch = new OpenWatch(request, exchange);
    this.#watches.add(watch);
    void exchange.closed.then(() => this.#watches.delete(watch));
    this.#watchFaults.take(request)?.(watch);
    for await (const line of linesOf(answer.chunks())) await watch.relay(line);
    if (answer.isWhole) watch.end();
  }

  /** One upstream connection for each incoming one; what happens to one happens to the other. */
  async #upstreamOf({ connection }: Exchange): Promise<UpstreamSession> {
    let upstream = this.#upstreams.get(connection);
    if (upstream === undefined) {
      upstream = UpstreamSession.open(this.#options.upstream, this.#options.ca, {
        onGoAway: (code) => this.#listener.goAwayOn(connection, code),
        onBroken: () => this.#listener.cutConnection(connection),
      });
      this.#upstreams.set(connection, upstream);
    }
    return upstream;
  }

  async #drop(connection: object): Promise<void> {
    const upstream = this.#upstreams.get(connection);
    this.#upstreams.delete(connection);
    await upstream?.then(
      (session) => session.close(),
      () => undefined,
    );
  }
}

async function relayBytes(answer: UpstreamAnswer, exchange: Exchange): Promise<void> {
  for await (const chunk of answer.chunks()) await exchange.write(chunk);
  if (answer.isWhole) await exchange.end();
}

/** Each line with its newline; at the end, the rest without one. */
async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield rest.subarray(0, end + 1);
      rest = rest.subarray(end + 1);
    }
  }
  if (rest.length > 0) yield rest;
}
