import type { Reason } from "@bunting/evaluation";
import type { DropReason, HttpRequestRecord, RefusalReason } from "@bunting/server";
import type { OnCallEnd } from "@bunting/rpc";
import type { AnswerReason } from "./answer.js";
import type { ApiErrorCode } from "./evaluation-error.js";

/** What the API counts, under flagd's names. These methods run at every evaluation, and must cost little. */
export interface ApiMetrics {
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
  rpc(system: RpcSystem, ...ended: Parameters<OnCallEnd>): void;
  /** The same for the calls of a gRPC server; `isHttp` counts them as requests of HTTP too. */
  grpcCalls(isHttp: boolean): OnCallEnd;
  /** A connection was ended or refused by a limit. */
  connectionEnded(reason: DropReason): void;
  /** A request was refused, or ended early, by a limit. */
  requestRefused(reason: RefusalReason): void;
  /** A request without a token of `--auth-token-file`. */
  unadmitted(reason: "missing" | "wrong"): void;
  /** Reports from now on how many of these requests wait. */
  longRequests(requests: { readonly waiting: number }): void;
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
