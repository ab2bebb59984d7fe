import type { DegradedState } from "@bunting/backplane";
import {
  counter,
  defineMetrics,
  histogram,
  label,
  observed,
  stateSet,
  type MetricsOf,
} from "@bunting/runtime";

/** The metrics of replicas that share a Redis; all zero for a proxy alone. Codes are those of BackplaneError, in small letters. */
export const backplaneMetrics = defineMetrics({
  backplaneState: stateSet(
    "bunting_proxy_backplane_state",
    "1 for the state that the replica is in, 0 for the others: connected follows other replicas by way of Redis; degraded watches for itself, because Redis is away or refuses to work; recovering does so still, because Redis works again only since lately.",
    ["state", ["connected", "degraded", "recovering"] satisfies DegradedState[]],
  ),
  backplaneReport: observed<BackplaneReport, undefined>(undefined, [
    {
      name: "bunting_proxy_backplane_replicas",
      help: "Live replicas that share the Redis, this one included; 0 if Redis has not told lately.",
      of: (report) => report?.replicas?.length ?? 0,
    },
    {
      name: "bunting_proxy_backplane_owner",
      help: "1 while this replica is the owner, which watches for all replicas; 0 while it is not.",
      of: (report) => (report?.lease === undefined ? 0 : 1),
    },
    {
      name: "bunting_proxy_backplane_topics",
      help: "Topics by what this replica does: followed (the owner watches it; none without Redis), direct (watched here although this replica is not the owner; with Redis, these are followed, too), for_others (watched for other replicas only).",
      label: "role",
      of: (report) => [
        ["followed", report?.followed ?? 0],
        ["direct", report?.direct ?? 0],
        ["for_others", report?.forOthers ?? 0],
      ],
    },
    {
      name: "bunting_proxy_backplane_lease_age_seconds",
      help: "Time since this replica renewed the lease of the owner, in seconds; 0 without the lease. Near --backplane-lease, Redis does not answer, and another replica is about to take over.",
      of: (report) => Math.max(0, report?.lease?.renewedAgoMs ?? 0),
    },
  ]),
  backplaneLag: histogram(
    "bunting_proxy_backplane_lag_seconds",
    "How much later than the owner wrote it an edit was known to this replica, in seconds, by the clock of Redis.",
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 15],
  ),
  backplaneLease: counter(
    "bunting_proxy_backplane_leases_total",
    "How often this replica has taken the lease of the owner, lost it, or given_up because nothing could be read.",
    label<"taken" | "lost" | "given_up">("event"),
  ),
  backplaneWritten: counter(
    "bunting_proxy_backplane_records_total",
    "Records that this replica wrote to Redis (write), or told to be unchanged (confirm).",
    label<"write" | "confirm">("kind"),
  ),
  backplaneWriteFailed: counter(
    "bunting_proxy_backplane_write_failures_total",
    "Writes that Redis refused or did not answer, by code; fenced are those under a lease that had ended.",
    label<string>("code"),
  ),
  backplaneRecordRefused: counter(
    "bunting_proxy_backplane_refused_records_total",
    "Records in Redis that can't be read, or are not signed with a key in use, by code.",
    // An alert compares with the time before: a series that began with the first record would hide it.
    label<string>(
      "code",
      "record_unverified",
      "record_malformed",
      "record_foreign",
      "record_too_large",
      "record_no_room",
    ),
  ),
});
export type BackplaneMetrics = MetricsOf<typeof backplaneMetrics>;

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
  /** The lease, while this replica is the owner. Without it, this replica follows the owner or, without Redis, watches for itself. */
  readonly lease?: OwnLease;
  /** Topics with subscribers here that another replica watches. */
  readonly followed: number;
  /** Topics that this replica watches for its own subscribers although it is not the owner. */
  readonly direct: number;
  /** Topics that are watched for other replicas only. */
  readonly forOthers: number;
  /** How much later than its owner wrote it the last edit was known here; absent if none was followed yet. */
  readonly lagMs?: number;
}

/** The lease under which this replica watches for all. */
export interface OwnLease {
  /** The fencing number: Redis refuses writes with a lower one. */
  readonly fence: number;
  /** How long ago the lease was renewed. */
  readonly renewedAgoMs: number;
}
