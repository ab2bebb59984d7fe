import { statusCode, type StatusName } from "@bunting/rpc";
import { Distribution, ScrapedHistogram, type Registry } from "@bunting/runtime";
import type { RpcSystem } from "../api/api-metrics.js";
import {
  durationBoundsMs,
  RequestTally,
  seriesOf,
  sizeBounds,
  tallyOf,
  type TallyLabels,
} from "./request-tally.js";
import { overflowLabels } from "./series-limit.js";

const countBounds = [1, 10, 100, 1_000];

/** How many series each metric has, beside the one that counts the rest: clients choose methods, protocols and what makes a call fail. */
const maxCalls = 100;

/** The protocols of an RPC, with the label that has its status. */
const rpcSystems = {
  grpc: "rpc_grpc_status_code",
  grpc_web: "rpc_grpc_web_status_code",
  connect_rpc: "rpc_connect_rpc_error_code",
} as const satisfies Readonly<Record<RpcSystem, string>>;

class CallTally extends RequestTally {
  readonly requests = new Distribution(countBounds);
  readonly responses = new Distribution(countBounds);
  /** Of the sizes of messages: streams count them without their status, which they do not have yet. */
  readonly sizeLabels: TallyLabels;

  constructor(labels: TallyLabels, sizeLabels: TallyLabels) {
    super(labels);
    this.sizeLabels = sizeLabels;
  }
}

interface CallMetric {
  readonly name: string;
  readonly help: string;
  readonly buckets: readonly number[];
  readonly of: (tally: CallTally) => Distribution;
  readonly isSize?: boolean;
}

const callMetrics: readonly CallMetric[] = [
  {
    name: "rpc_server_duration_milliseconds",
    help: "Milliseconds that an RPC took, with its status.",
    buckets: durationBoundsMs,
    of: ({ durationMs }) => durationMs,
  },
  {
    name: "rpc_server_request_size_bytes",
    help: "Bytes of the request messages of an RPC.",
    buckets: sizeBounds,
    of: ({ requestBytes }) => requestBytes,
    isSize: true,
  },
  {
    name: "rpc_server_response_size_bytes",
    help: "Bytes of the response messages of an RPC.",
    buckets: sizeBounds,
    of: ({ responseBytes }) => responseBytes,
    isSize: true,
  },
  {
    name: "rpc_server_requests_per_rpc",
    help: "Request messages of an RPC.",
    buckets: countBounds,
    of: ({ requests }) => requests,
  },
  {
    name: "rpc_server_responses_per_rpc",
    help: "Response messages of an RPC.",
    buckets: countBounds,
    of: ({ responses }) => responses,
  },
];

/** Counts calls under flagd's names, `rpc_server_*`, by method with the status of the call. Labels are built when Prometheus scrapes. */
export class CallMetrics {
  readonly #calls = new Map<string, CallTally>();

  constructor(registry: Registry) {
    const calls = this.#calls;
    const labelNames = [
      "rpc_system",
      "rpc_service",
      "rpc_method",
      ...Object.values(rpcSystems),
      "otel_metric_overflow",
    ];
    for (const { name, help, buckets, of, isSize = false } of callMetrics) {
      const labelsOf = ({ labels, sizeLabels }: CallTally): TallyLabels => (isSize ? sizeLabels : labels);
      new ScrapedHistogram({ name, help, labelNames, buckets, registers: [registry] }, () =>
        seriesOf(calls.values(), of, { labelsOf }),
      );
    }
  }

  /** A call that has ended: see `CallCounts`. */
  record(
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
