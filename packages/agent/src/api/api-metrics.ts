import type { DropReason, RefusalReason } from "@bunting/rpc";
import type { AnswerReason } from "./answer.js";
import type { ApiErrorCode } from "./evaluation-error.js";

/** What the API counts, under flagd's names. These methods run at every evaluation: none takes an object allocated for the call. */
export interface ApiMetrics {
  /** `feature_flag.flagd.impression` and `feature_flag.flagd.result.reason`: an evaluation that was answered. */
  evaluated(flagKey: string, reason: AnswerReason, variant: string): void;
  /** `feature_flag.flagd.result.reason` with reason ERROR: an evaluation that failed. */
  evaluationFailed(flagKey: string, errorCode: ApiErrorCode): void;
  /** `http.server.request.duration` and `http.server.response.body.size`, with the status that was really sent. */
  httpRequest(
    service: HttpServiceName,
    route: string,
    method: string,
    status: number,
    durationMs: number,
    responseBytes: number,
  ): void;
  /** `http.server.active_requests`: 1 when a request begins, -1 when it is answered or its client has gone. */
  httpActiveRequests(service: HttpServiceName, change: 1 | -1): void;
  /** A connection was ended or refused by a limit. */
  connectionEnded(reason: DropReason): void;
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

export type HttpServiceName = "evaluation" | "ofrep";

export type SyncStreamEndReason = "normal_close" | "deadline_exceeded" | "client_disconnect" | "error";
