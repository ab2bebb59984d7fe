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
  /** An edit that another replica wrote is known here so many ms later. */
  backplaneLag(lagMs: number): void;
  /** Hands over how to count, for metrics and the status page. */
  backplaneReport(read: () => BackplaneReport): void;
}

/** What a replica is at one moment. */
export interface BackplaneReport {
  readonly state: DegradedState;
  /** For how long it has been in that state. */
  readonly stateMs: number;
  /** Why there is no connection to Redis, why it refuses to work, or why its announcements can't be read; absent while it works. */
  readonly reason?: string;
  /** This process, as other replicas know it. */
  readonly replica: string;
  /** The live replicas, as far as Redis told lately. */
  readonly replicas: readonly string[] | undefined;
  readonly owned: readonly OwnedUnit[];
  /** Units with subscribers here that this replica does not own: it follows the owner or, without Redis, watches for itself. */
  readonly others: readonly string[];
  /** Topics with subscribers here that other replicas own. */
  readonly followed: number;
  /** Topics that this replica watches for its own subscribers although it does not own them. */
  readonly direct: number;
  /** Topics that are watched for other replicas only. */
  readonly forOthers: number;
  /** How much later than its owner wrote it the last edit was known here; absent if none was followed yet. */
  readonly lagMs?: number;
}

/** What this replica watches for all. */
export interface OwnedUnit {
  /** `namespace/NAME`, or `cluster`. */
  readonly unit: string;
  /** The fencing number of its lease: Redis refuses writes with a lower one. */
  readonly fence: number;
  /** How long ago the lease was renewed. */
  readonly renewedAgoMs: number;
}
