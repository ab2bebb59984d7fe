import type { BackplaneError, Follower, Lease } from "@bunting/backplane";
import type { Context } from "@bunting/runtime";
import type { FlagSource } from "../flag-source.js";
import type { BackplaneMetrics } from "./backplane-metrics.js";

/** How long this replica waits for an owner, and relies on it. */
export interface ConfirmationTimes {
  /** Time that an owner has to confirm a new topic, before this replica watches it for itself. */
  readonly answerMs: number;
  /** Validity of an owner's confirmation. */
  readonly freshMs: number;
}

/** What topics tell the replica that they are of. */
export interface ReplicatedEvents<Topic> {
  /** A watch of this replica has reported the topic: the owner has to write it. */
  readonly onAnswered: (topic: Topic) => void;
  /** A read on request has ended, or was given up: the topic may be idle now. */
  readonly onRead: (topic: Topic) => void;
  /** A watch of this replica can't follow changes. */
  readonly onStale: (topic: Topic) => void;
  /** A record can't be used. Called by the pace of RepairPace, not at each attempt to read the record. */
  readonly onRefused: (topic: Topic, error: BackplaneError) => void;
  /** An edit was taken from Redis, `lagMs` after its owner wrote or confirmed it. */
  readonly onFollowed: (lagMs: number) => void;
}

export interface ReplicatedShared<Topic> {
  readonly source: FlagSource;
  readonly follower: Pick<Follower, "follow">;
  readonly context: Pick<Context<Pick<BackplaneMetrics, "backplaneRecordRefused">>, "clock" | "metrics">;
  /** True while Redis can be used (RedisHealth); false: this replica watches for itself. */
  readonly usesRedis: () => boolean;
  /** The lease while this replica is the owner. */
  readonly lease: () => Lease | undefined;
  readonly times: ConfirmationTimes;
  readonly events: ReplicatedEvents<Topic>;
}
