import { statusCode, type OnCallEnd, type StatusName } from "@bunting/rpc";
import { Gauge, ScrapedHistogram, type HistogramSeries, type Registry } from "@bunting/runtime";
import type { HttpRequestRecord, RpcSystem } from "../api/api-metrics.js";
import { boundedLabels, otherLabel } from "../api/bounded-labels.js";
import { Distribution } from "./distribution.js";
import { overflowLabels } from "./series-limit.js";

/** Those of OpenTelemetry. */
const durationBoundsMs = [5, 10, 25, 50, 75, 100, 250, 500, 750, 1_000, 2_500, 5_000, 7_500, 10_000];
const sizeBounds = [100, 1_000, 10_000, 100_000, 1_000_000];
const countBounds = [1, 10, 100, 1_000];

/** How many server names are told apart: clients choose them. */
const maxHosts = 8;
/**
 * How many series a metric has, beside the one that counts the rest. Clients choose methods, paths, versions and what makes a request fail;
 * a series is up to 17 lines in each of three to five histograms.
 */
const maxStatuses = 64;
const maxRoutes = 32;
const maxCalls = 100;

type Labels = Readonly<Record<string, string>>;

/** The protocols of an RPC, with the label that has its status. */
const rpcSystems = {
  grpc: "rpc_grpc_status_code",
  grpc_web: "rpc_grpc_web_status_code",
  connect_rpc: "rpc_connect_rpc_error_code",
} as const satisfies Readonly<Record<RpcSystem, string>>;

class RequestTally {
  readonly durationMs = new Distribution(durationBoundsMs);
  readonly requestBytes = new Distribution(sizeBounds);
  readonly responseBytes = new Distribution(sizeBounds);
  readonly labels: Labels;
  open = 0;

  constructor(labels: Labels) {
    this.labels = labels;
  }
}

class CallTally extends RequestTally {
  readonly requests = new Distribution(countBounds);
  readonly responses = new Distribution(countBounds);
  /** Of the sizes of messages: streams count them without their status, which they do not have yet. */
  readonly sizeLabels: Labels;

  constructor(labels: Labels, sizeLabels: Labels) {
    super(labels);
    this.sizeLabels = sizeLabels;
  }
}

/**
 * Counts requests under flagd's names: `http_server_*` once by route, where flagd's middleware always says status 200, and for OFREP once more
 * with the status that was sent; `rpc_server_*` by method with the status of the call. Labels are built when Prometheus scrapes.
 */
export class RequestMetrics {
  readonly #routes = new Map<string, RequestTally>();
  readonly #statuses = new Map<string, RequestTally>();
  readonly #calls = new Map<string, CallTally>();
  readonly #hostLabel = boundedLabels(maxHosts);

  constructor(registry: Registry) {
    const routes = this.#routes;
    const statuses = this.#statuses;
    const calls = this.#calls;
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
      () => series(all(), ({ durationMs }) => durationMs, 1_000),
    );
    new ScrapedHistogram(
      {
        name: "http_server_request_body_size_bytes",
        help: "Bytes of the request body of an OFREP request.",
        labelNames: [...http, ...otel],
        buckets: sizeBounds,
        registers,
      },
      () => series(statuses.values(), ({ requestBytes }) => requestBytes),
    );
    new ScrapedHistogram(
      {
        name: "http_server_response_body_size_bytes",
        help: "Bytes of the response body of an HTTP request.",
        labelNames: [...http, ...otel],
        buckets: sizeBounds,
        registers,
      },
      () => series(all(), ({ responseBytes }) => responseBytes),
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
    const rpc = [
      "rpc_system",
      "rpc_service",
      "rpc_method",
      ...Object.values(rpcSystems),
      "otel_metric_overflow",
    ];
    const families: readonly [
      string,
      string,
      readonly number[],
      (tally: CallTally) => Distribution,
      boolean,
    ][] = [
      [
        "rpc_server_duration_milliseconds",
        "Milliseconds that an RPC took, with its status.",
        durationBoundsMs,
        (tally) => tally.durationMs,
        false,
      ],
      [
        "rpc_server_request_size_bytes",
        "Bytes of the request messages of an RPC.",
        sizeBounds,
        (tally) => tally.requestBytes,
        true,
      ],
      [
        "rpc_server_response_size_bytes",
        "Bytes of the response messages of an RPC.",
        sizeBounds,
        (tally) => tally.responseBytes,
        true,
      ],
      [
        "rpc_server_requests_per_rpc",
        "Request messages of an RPC.",
        countBounds,
        (tally) => tally.requests,
        false,
      ],
      [
        "rpc_server_responses_per_rpc",
        "Response messages of an RPC.",
        countBounds,
        (tally) => tally.responses,
        false,
      ],
    ];
    for (const [name, help, buckets, of, isSize] of families) {
      new ScrapedHistogram({ name, help, labelNames: rpc, buckets, registers }, () =>
        [...calls.values()].map((tally) => ({
          labels: isSize ? tally.sizeLabels : tally.labels,
          counts: of(tally).counts,
          sum: of(tally).sum,
        })),
      );
    }
  }

  /** To be called with 1 when a request's route is known, and with -1 when it has been answered or its client has gone. */
  active(route: string, method: string, change: 1 | -1): void {
    this.#route(route, method).open += change;
  }

  /** A request that was answered; "" is the route of those that have none. */
  http(route: string, isOfrep: boolean, record: HttpRequestRecord): void {
    const { method, status, durationMs, requestBytes, responseBytes } = record;
    if (route !== "") {
      const tally = this.#route(route, method);
      tally.durationMs.record(durationMs);
      tally.responseBytes.record(responseBytes);
    }
    if (!isOfrep) return;
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
    tally.durationMs.record(durationMs);
    tally.requestBytes.record(requestBytes);
    tally.responseBytes.record(responseBytes);
  }

  /** A call over Connect or gRPC-Web that has ended, or one over gRPC: see `onCallEnd`. */
  call(
    system: RpcSystem,
    path: string,
    code: StatusName,
    durationMs: number,
    requestBytes: number,
    responseBytes: number,
    responses: number,
  ): void {
    const key = `${system} ${code} ${path}`;
    const tally = tallyOf(this.#calls, key, maxCalls, (isOverflow) =>
      isOverflow ? new CallTally(overflowLabels, overflowLabels) : newCallTally(system, path, code),
    );
    tally.durationMs.record(durationMs);
    tally.requestBytes.record(requestBytes);
    tally.requests.record(1);
    tally.responseBytes.record(responseBytes);
    tally.responses.record(responses);
  }

  /** Counts the calls of a gRPC server; with `isHttp`, as flagd does on port 8013, each also as a request of HTTP. */
  grpcCalls(isHttp: boolean): OnCallEnd {
    return (path, ended, durationMs, requestBytes, responseBytes, responses) => {
      // A client that has gone is no error of the server: streams end so.
      const code = ended === "CANCELLED" ? "OK" : ended;
      this.call("grpc", path, code, durationMs, requestBytes, responseBytes, responses);
      if (!isHttp) return;
      const tally = this.#route(path, "POST");
      tally.durationMs.record(durationMs);
      tally.responseBytes.record(responseBytes);
    };
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

/** The key of the tally of everything beyond a limit; no other key is empty. */
const overflowKey = "";

function tallyOf<Tally>(
  tallies: Map<string, Tally>,
  key: string,
  max: number,
  create: (isOverflow: boolean) => Tally,
): Tally {
  let tally = tallies.get(key);
  if (tally !== undefined) return tally;
  const isOverflow = tallies.size >= max;
  if (isOverflow) tally = tallies.get(overflowKey);
  if (tally === undefined) tallies.set(isOverflow ? overflowKey : key, (tally = create(isOverflow)));
  return tally;
}

function newCallTally(system: RpcSystem, path: string, code: StatusName): CallTally {
  const [, service = "", method = ""] = path.split("/");
  const base = { rpc_system: system, rpc_service: service, rpc_method: method };
  const isConnect = system === "connect_rpc";
  const status = isConnect ? code.toLowerCase() : String(statusCode[code]);
  const labels = isConnect && code === "OK" ? base : { ...base, [rpcSystems[system]]: status };
  const countsMessages = method === "EventStream" || service.startsWith("flagd.sync.");
  return new CallTally(labels, countsMessages ? base : labels);
}

function* series(
  tallies: Iterable<RequestTally>,
  of: (tally: RequestTally) => Distribution,
  divisor = 1,
): Iterable<HistogramSeries> {
  for (const tally of tallies) {
    const { counts, sum } = of(tally);
    yield { labels: tally.labels, counts, sum: sum / divisor };
  }
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, "");
}
