import type { RejectedFlag } from "@bunting/evaluation";
import type { Clock, Logger, Runnable } from "@bunting/runtime";
import type { DocumentVersion } from "./bunting-wire.js";
import type { HeldDocument } from "./held-document.js";
import type { SyncMetrics } from "./sync-metrics.js";
import type { SyncProtocol } from "./sync-protocol.js";

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
  /** What was spoken with it last; undefined for a file, and before anything was. */
  readonly protocol: SyncProtocol | undefined;
  /** What it says instead of sending a document, as that there is none. */
  readonly remark: string | undefined;
}

/** What came from a source. */
export interface Delivery {
  readonly sourceIndex: number;
  /** A flag document: JSON in UTF-8. Never written to again. */
  readonly bytes: Buffer;
  /** By which version its source knows it; undefined if it has none. */
  readonly version?: DocumentVersion | undefined;
  /** The source's document was deleted, and this stands for there being none: what is kept of it on disk must go. */
  readonly isDeletion?: boolean;
}

/** `refusal` says why the document can't be used; all of its flags that can't be served alone are in `rejectedFlags`. */
export type DeliveryResult =
  { readonly refusal: string } | { readonly rejectedFlags: readonly RejectedFlag[] };

/** Takes a document over. Whoever refuses it says so in the log. */
export type Deliver = (delivery: Delivery) => DeliveryResult;

export interface SourceOptions {
  readonly deliver: Deliver;
  /** What was last delivered of a source and not refused. */
  readonly held: (sourceIndex: number) => HeldDocument | undefined;
  /** What is held of a source is now known by this version. */
  readonly confirm: (sourceIndex: number, version: DocumentVersion) => void;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: SyncMetrics;
  /** Documents beyond this size are refused before they are read. */
  readonly maxDocumentBytes: number;
}
