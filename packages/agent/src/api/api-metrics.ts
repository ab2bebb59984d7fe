import type { Reason } from "@bunting/evaluation";
import { counter, defineMetrics, label, observed, type MetricsOf } from "@bunting/runtime";
import type { DropReason, HttpRequestRecord, RefusalReason } from "@bunting/server";
import type { CallCounts } from "@bunting/rpc";
import type { AnswerReason } from "./answer.js";
import type { ApiErrorCode } from "./evaluation-error.js";

export const apiLimitMetrics = defineMetrics({
  /** A connection was ended or refused by a limit. */
  connectionEnded: counter(
    "bunting_agent_api_connections_ended_total",
    "Connections that the agent ended or refused, by the limit: memory (what peers may make it hold), headers (--max-request-header), silent (no answer to a PING), flood (of PING or SETTINGS frames), settings (not acknowledged), idle (no request for too long), unfinished_headers (a header block of HTTP/2 did not end), stalled (the peer read nothing for 60 s), protocol_error (it violated HTTP/2), tls (a handshake failed or took 10 s, or the peer spoke plaintext to a port with TLS or the reverse).",
    label<DropReason>(
      "reason",
      "memory",
      "headers",
      "silent",
      "flood",
      "settings",
      "idle",
      "unfinished_headers",
      "stalled",
      "protocol_error",
      "tls",
    ),
  ),
  unadmitted: counter(
    "bunting_agent_api_unauthenticated_total",
    "Requests refused because their token was missing, or is not in --auth-token-file (wrong).",
    label<"missing" | "wrong">("reason"),
  ),
  longRequests: observed<{ readonly waiting: number }>({ waiting: 0 }, [
    {
      name: "bunting_agent_api_long_requests_waiting",
      help: "Requests that take long, those for all flags and those of more than 16 KiB, which wait for their turn, so that evaluations of single flags are answered between them.",
      of: ({ waiting }) => waiting,
    },
  ]),
});

/** What the API counts, most of it under flagd's names. These methods run at every evaluation, and must cost little. */
export interface ApiMetrics extends MetricsOf<typeof apiLimitMetrics> {
  /** `feature_flag.flagd.impression` and `feature_flag.flagd.result.reason`: an evaluation that was answered. */
  evaluated(flagKey: string, reason: Reason, variant: string): void;
  /** `feature_flag.flagd.result.reason` with reason ERROR: an evaluation that failed. */
  evaluationFailed(flagKey: string, errorCode: ApiErrorCode): void;
  /** The same for evaluations over OFREP, which flagd does not count. */
  ofrepEvaluated(flagKey: string, reason: AnswerReason, variant: string): void;
  ofrepEvaluationFailed(flagKey: string, errorCode: ApiErrorCode): void;
  /** `http.server.request.duration` and `http.server.response.body.size`; "" is the route of a request that has none. */
  httpRequest(service: HttpServiceName, route: string, record: HttpRequestRecord): void;
  /** `http.server.active_requests`: 1 when a request's route is known, -1 when it is answered or its client has gone. */
  httpActiveRequests(route: string, method: string, change: 1 | -1): void;
  /** `rpc.server.*`: a call over Connect or gRPC-Web that has ended, or one over gRPC that is not served natively. */
  rpc(system: RpcSystem, ...ended: Parameters<CallCounts["onCallEnd"]>): void;
  /** The same for the calls of a gRPC server; `isHttp` counts them as requests of HTTP too, also while they are open. */
  grpcCalls(isHttp: boolean): CallCounts;
  /** A request was refused, or ended early, by a limit. */
  requestRefused(reason: RefusalReason): void;
  /** `feature_flag.flagd.sync.active_streams`. */
  syncStreamOpened(selector: string, providerId: string): void;
  /** `feature_flag.flagd.sync.active_streams` and `feature_flag.flagd.sync.stream.duration`. */
  syncStreamClosed(
    selector: string,
    providerId: string,
    reason: SyncStreamEndReason,
    durationMs: number,
  ): void;
}

/** The protocols of an RPC, as OpenTelemetry names them. */
export type RpcSystem = "grpc" | "grpc_web" | "connect_rpc";

export type HttpServiceName = "evaluation" | "ofrep" | "sync";

export type SyncStreamEndReason = "normal_close" | "deadline_exceeded" | "client_disconnect" | "error";
