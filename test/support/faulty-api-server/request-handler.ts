import { setTimeout as delay } from "node:timers/promises";
import { AccessControl } from "./access-control.js";
import { readRequest, type ApiRequest } from "./api-request.js";
import type { Exchange } from "./exchange.js";
import { FaultScript, type Fault, type WatchFault } from "./fault-script.js";
import { list } from "./list-handler.js";
import { ObjectStore, type StoreEvent } from "./object-store.js";
import type { OpenWatch } from "./open-watch.js";
import { status, type Status } from "./status.js";
import { beginWatch, decideStart, openWatch, type WatchBehaviour } from "./watch-handler.js";

/** A request, as logged. */
export interface LoggedRequest extends ApiRequest {
  readonly protocol: "h2" | "http/1.1";
  /** The status of the answer; undefined before its head. */
  readonly status: number | undefined;
}

/** Answers requests from the store, or by the faults of the test. */
export class RequestHandler {
  readonly access = new AccessControl();
  readonly store = new ObjectStore((event) => this.#onEvent(event));
  readonly faults = new FaultScript<Fault>();
  readonly watchFaults = new FaultScript<WatchFault>();
  readonly watches = new Set<OpenWatch>();
  readonly requests: LoggedRequest[] = [];
  readonly log: StoreEvent[] = [];
  readonly behaviour: WatchBehaviour;
  crdPresent = true;
  watchesOpened = 0;
  maxConcurrentOpenings = 0;
  #openings = 0;
  readonly #underway = new Set<Exchange>();

  constructor(behaviour: WatchBehaviour) {
    this.behaviour = behaviour;
  }

  /** How many requests faults keep without an answer. */
  get heldRequests(): number {
    return [...this.#underway].filter(({ isHeld }) => isHeld).length;
  }

  async serve(exchange: Exchange): Promise<void> {
    this.#underway.add(exchange);
    await this.#serve(exchange);
    this.#underway.delete(exchange);
  }

  async #serve(exchange: Exchange): Promise<void> {
    const request = readRequest(exchange.method, exchange.uri, exchange.headers);
    this.requests.push(logged(request, exchange));
    const isWatch = request.kind === "watch" || request.kind === "watchlist";
    if (!isWatch) return this.#answer(exchange, request);
    this.#openings += 1;
    this.maxConcurrentOpenings = Math.max(this.maxConcurrentOpenings, this.#openings);
    const opened = this.#watch(exchange, request);
    await Promise.race([opened, exchange.closed]);
    this.#openings -= 1;
  }

  /** True if the request is done with: a fault or a refusal took it. */
  async #refused(exchange: Exchange, request: ApiRequest): Promise<boolean> {
    const fault = this.faults.take(request);
    if (fault !== undefined && (await fault(exchange, request)) === "handled") {
      // A fault without an answer holds the request until either side gives up.
      if (exchange.status === undefined) await exchange.hold(exchange.closed);
      return true;
    }
    const refusal = this.access.refusal(request);
    if (refusal !== undefined) {
      // After a 401 the real API server ends the connection too.
      if (this.access.isUnknown(request)) exchange.goAway();
      await answerStatus(exchange, refusal);
      return true;
    }
    const isOfCrd = request.kind !== "review" && request.kind !== "other";
    if (request.kind === "other" || (isOfCrd && !this.crdPresent)) {
      await exchange.answer(404, { "content-type": "text/plain; charset=utf-8" }, "404 page not found\n");
      return true;
    }
    if (request.unknownField === undefined) return false;
    await answerStatus(
      exchange,
      status(400, "BadRequest", `field label not supported: ${request.unknownField}`),
    );
    return true;
  }

  async #answer(exchange: Exchange, request: ApiRequest): Promise<void> {
    if (await this.#refused(exchange, request)) return;
    if (request.kind === "review") {
      const { code, body } = await this.access.review(exchange);
      await exchange.answer(code, { "content-type": "application/json" }, JSON.stringify(body));
      return;
    }
    const body = await list(this.store, request, exchange, this.behaviour.freshWaitMs);
    if (typeof body !== "string") return answerStatus(exchange, body);
    await exchange.answer(200, { "content-type": "application/json" }, body);
  }

  async #watch(exchange: Exchange, request: ApiRequest): Promise<void> {
    if (await this.#refused(exchange, request)) return;
    const start = await decideStart(this.store, request, exchange, this.behaviour);
    if (exchange.isClosed) return;
    if (start.kind === "refused" && !start.inStream) return answerStatus(exchange, start.status);
    const watch = openWatch(exchange, request);
    this.watchesOpened += 1;
    this.watches.add(watch);
    void exchange.closed.then(() => this.watches.delete(watch));
    const timeoutS = Number(request.query.get("timeoutSeconds") ?? 0);
    if (timeoutS > 0) void this.#endAfter(watch, timeoutS * 1000);
    this.watchFaults.take(request)?.(watch);
    beginWatch(watch, this.store, start);
  }

  async #endAfter(watch: OpenWatch, ms: number): Promise<void> {
    await delay(ms, undefined, { signal: watch.exchange.signal }).then(
      () => watch.end(),
      () => undefined,
    );
  }

  #onEvent(event: StoreEvent): void {
    this.log.push(event);
    for (const watch of this.watches) watch.offer(event);
  }
}

async function answerStatus(exchange: Exchange, refusal: Status): Promise<void> {
  const details = refusal.details as { readonly retryAfterSeconds?: number } | undefined;
  const after = details?.retryAfterSeconds;
  const headers = {
    "content-type": "application/json",
    ...(after === undefined ? {} : { "retry-after": String(after) }),
  };
  await exchange.answer(refusal.code, headers, `${JSON.stringify(refusal)}\n`);
}

function logged(request: ApiRequest, exchange: Exchange): LoggedRequest {
  return {
    ...request,
    protocol: exchange.protocol,
    get status() {
      return exchange.status;
    },
  };
}
