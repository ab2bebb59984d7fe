import { Gauge, ScrapedHistogram, type Registry } from "@bunting/runtime";
import type { HttpRequestRecord } from "@bunting/server";
import { boundedLabels, otherLabel } from "../api/bounded-labels.js";
import { durationBoundsMs, RequestTally, seriesOf, sizeBounds, tallyOf } from "./request-tally.js";
import { overflowLabels } from "./series-limit.js";

/** How many server names are told apart: clients choose them. */
const maxHosts = 8;
/**
 * How many series a metric has, beside the one that counts the rest. Clients choose methods, paths, versions and what makes a request fail;
 * a series is up to 17 lines in each of three histograms.
 */
const maxStatuses = 64;
const maxRoutes = 32;

/**
 * Counts requests of HTTP under flagd's names, `http_server_*`: once by route, where flagd's middleware always says status 200, and for OFREP
 * once more with the status that was sent. Labels are built when Prometheus scrapes.
 */
export class RequestMetrics {
  readonly #routes = new Map<string, RequestTally>();
  readonly #statuses = new Map<string, RequestTally>();
  readonly #hostLabel = boundedLabels(maxHosts);
  #last:
    | (Pick<HttpRequestRecord, "status" | "method" | "host" | "httpVersion"> & {
        readonly tally: RequestTally;
      })
    | undefined;

  constructor(registry: Registry) {
    const routes = this.#routes;
    const statuses = this.#statuses;
    const registers = [registry];
    const http = [
      "service_name",
      "http_route",
      "http_request_method",
      "http_response_status_code",
      "url_scheme",
    ];
    const otel = [
      "network_protocol_name",
      "network_protocol_version",
      "server_address",
      "otel_metric_overflow",
    ];
    const all = function* (): Iterable<RequestTally> {
      yield* routes.values();
      yield* statuses.values();
    };
    new ScrapedHistogram(
      {
        name: "http_server_request_duration_seconds",
        help: "Seconds to answer an HTTP request, native gRPC included: by route, where the status is always 200 as in flagd, and for OFREP also by the status that was sent.",
        labelNames: [...http, ...otel],
        buckets: durationBoundsMs.map((ms) => ms / 1_000),
        registers,
      },
      () => seriesOf(all(), ({ durationMs }) => durationMs, { divisor: 1_000 }),
    );
    new ScrapedHistogram(
      {
        name: "http_server_request_body_size_bytes",
        help: "Bytes of the request body of an OFREP request.",
        labelNames: [...http, ...otel],
        buckets: sizeBounds,
        registers,
      },
      () => seriesOf(statuses.values(), ({ requestBytes }) => requestBytes),
    );
    new ScrapedHistogram(
      {
        name: "http_server_response_body_size_bytes",
        help: "Bytes of the response body of an HTTP request.",
        labelNames: [...http, ...otel],
        buckets: sizeBounds,
        registers,
      },
      () => seriesOf(all(), ({ responseBytes }) => responseBytes),
    );
    new Gauge({
      name: "http_server_active_requests",
      help: "HTTP requests that are being answered, native gRPC included.",
      labelNames: [...http, "otel_metric_overflow"],
      registers,
      collect() {
        this.reset();
        for (const { labels, open } of routes.values()) this.set(labels, open);
      },
    });
  }

  /** To be called with 1 when a request's route is known, and with -1 when it has been answered or its client has gone. */
  active(route: string, method: string, change: 1 | -1): void {
    this.#route(route, method).open += change;
  }

  /** A request that was answered, by its route alone. */
  routed(route: string, method: string, durationMs: number, responseBytes: number): void {
    const tally = this.#route(route, method);
    tally.durationMs.record(durationMs);
    tally.responseBytes.record(responseBytes);
  }

  /** A request that was answered; "" is the route of those that have none. */
  http(route: string, isOfrep: boolean, record: HttpRequestRecord): void {
    const { method, durationMs, requestBytes, responseBytes } = record;
    if (route !== "") this.routed(route, method, durationMs, responseBytes);
    if (!isOfrep) return;
    const tally = this.#status(record);
    tally.durationMs.record(durationMs);
    tally.requestBytes.record(requestBytes);
    tally.responseBytes.record(responseBytes);
  }

  /** Most requests are counted where the one before them was. */
  #status(record: HttpRequestRecord): RequestTally {
    const { method, status } = record;
    const last = this.#last;
    if (
      last?.status === status &&
      last.host === record.host &&
      last.method === method &&
      last.httpVersion === record.httpVersion
    )
      return last.tally;
    const host = this.#hostLabel(withoutPort(record.host));
    const key = `${status} ${method} ${record.httpVersion} ${host}`;
    const tally = tallyOf(this.#statuses, key, maxStatuses, (isOverflow) => {
      const labels = {
        http_request_method: method,
        http_response_status_code: String(status),
        network_protocol_name: "http",
        network_protocol_version: record.httpVersion,
        server_address: host,
        url_scheme: "http",
      };
      return new RequestTally(isOverflow ? overflowLabels : labels);
    });
    this.#last = { status, method, host: record.host, httpVersion: record.httpVersion, tally };
    return tally;
  }

  #route(route: string, method: string): RequestTally {
    const key = method === "POST" ? route : `${method} ${route}`;
    return tallyOf(this.#routes, key, maxRoutes, (isOverflow) => {
      const labels = {
        http_request_method: method,
        http_response_status_code: "200",
        http_route: route,
        service_name: "flagd",
        url_scheme: "http",
      };
      return new RequestTally(isOverflow ? { ...overflowLabels, http_route: otherLabel } : labels);
    });
  }
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, "");
}
