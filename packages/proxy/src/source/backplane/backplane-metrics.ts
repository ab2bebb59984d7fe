import type { DegradedState } from "@bunting/backplane";

/** What a replica counts of the backplane. */
export interface BackplaneMetrics {
  /** Whether the replica relies on Redis. */
  backplaneState(state: DegradedState): void;
  /** A lease was taken, lost before it was given back, handed to the replica that asked for it, or given up because the API server can't be read. */
  backplaneLease(event: "taken" | "lost" | "handed_over" | "given_up"): void;
  /** A record was written or confirmed. */
  backplaneWritten(kind: "write" | "confirm", records: number): void;
  /** A write was refused or failed; `code` is that of the BackplaneError. */
  backplaneWriteFailed(code: string): void;
  /** A record in Redis can't be used; `code` is that of the BackplaneError. */
  backplaneRecordRefused(code: string): void;
  /** Hands over how to count, for metrics and the status page. */
  backplaneReport(read: () => BackplaneReport): void;
}

/** What a replica is at one moment. */
export interface BackplaneReport {
  readonly state: DegradedState;
  /** This process, as other replicas know it. */
  readonly replica: string;
  /** The live replicas, as far as Redis told lately. */
  readonly replicas: readonly string[] | undefined;
  /** What this replica owns: `namespace/NAME`, or `cluster`. */
  readonly owned: readonly string[];
  /** Topics with subscribers here that other replicas own. */
  readonly followed: number;
  /** Topics that this replica watches for its own subscribers although it does not own them. */
  readonly direct: number;
  /** Topics that are watched for other replicas only. */
  readonly forOthers: number;
}
