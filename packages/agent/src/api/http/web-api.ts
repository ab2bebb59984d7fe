import type { Callers, Cors, LongRequestQueue } from "@bunting/server";
import type { Clock } from "@bunting/runtime";
import type { ApiMetrics } from "../api-metrics.js";

/** What the APIs over HTTP have in common, whatever port they are on. */
export interface WebApi {
  readonly metrics: ApiMetrics;
  readonly clock: Clock;
  readonly cors: Cors;
  /** Undefined if anybody is answered. */
  readonly callers?: Callers | undefined;
  readonly longRequests: LongRequestQueue;
  /** `--max-request-body`, in bytes; 0 means no limit. */
  readonly maxRequestBodyBytes: number;
}
