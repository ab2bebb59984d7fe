import type { BackplaneError, Follower, Lease } from "@bunting/backplane";
import type { Clock } from "@bunting/runtime";
import type { FlagSource } from "../flag-source.js";
import type { BackplaneMetrics } from "./backplane-metrics.js";

/** What topics have in common. */
export interface ReplicatedShared<Topic> {
  readonly source: FlagSource;
  readonly follower: Pick<Follower, "follow">;
  readonly clock: Clock;
  readonly metrics: Pick<BackplaneMetrics, "backplaneRecordRefused">;
  /** Whether this replica relies on Redis. */
  readonly usesRedis: () => boolean;
  /** How long Redis may leave a new topic without an owner's confirmation before this replica watches it for itself. */
  readonly answerMs: number;
  /** How long what an owner confirmed counts. */
  readonly freshMs: number;
  /** A watch of this replica has said what the topic is: an owner has to write it. */
  readonly onAnswered: (topic: Topic) => void;
  /** A watch of this replica can't follow changes. */
  readonly onStale: (topic: Topic) => void;
  /** A record can't be used; not told of each attempt to read it. */
  readonly onRefused: (topic: Topic, error: BackplaneError) => void;
  /** An edit that was known to Redis so many ms ago is known now. */
  readonly onFollowed: (lagMs: number) => void;
}

/** What a topic has to know of the lease that it is under. */
export interface Ownership {
  /** Also the name of the lease. */
  readonly name: string;
  readonly lease: Lease | undefined;
  /** This replica reads everything before it asks for the lease. */
  readonly isPrewarming: boolean;
}
