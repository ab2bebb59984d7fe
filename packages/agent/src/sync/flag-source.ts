import type { JsonObject } from "@bunting/protocol";
import type { Clock, Logger, Runnable } from "@bunting/runtime";
import type { SyncMetrics } from "./sync-metrics.js";

/** Where flag documents come from. It runs until it is told to stop; that its origin is away is no reason to end. */
export interface FlagSource extends Runnable {
  status(): SourceStatus;
}

/** How a source is doing, for metrics, readiness and the body of /readyz. Times are milliseconds since the epoch. */
export interface SourceStatus {
  readonly sourceIndex: number;
  readonly uri: string;
  readonly selector: string;
  /** `connected`: it can be heard. `connecting`: not yet, since the start. `disconnected`: no longer, so its flags may be stale. */
  readonly state: "connecting" | "connected" | "disconnected";
  /** Since when it has been in this state. */
  readonly since: number;
  /** When the newest document came; undefined if none has. */
  readonly lastUpdate: number | undefined;
  /** Why it can't be heard. */
  readonly error: string | undefined;
}

/** What came from a source. */
export interface Delivery {
  readonly sourceIndex: number;
  /** A flag document: JSON in UTF-8. Never written to again. */
  readonly bytes: Buffer;
  /** Evaluation context of the source (`sync_context`); undefined if it sends none. */
  readonly context: JsonObject | undefined;
}

/** Takes a document over. Returns false if it can't be used; whoever refuses says so in the log. */
export type Deliver = (delivery: Delivery) => boolean;

export interface SourceOptions {
  readonly deliver: Deliver;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: SyncMetrics;
  /** Documents beyond this size are refused before they are read. */
  readonly maxDocumentBytes: number;
}
