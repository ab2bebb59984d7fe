/**
 * What a proxy says of its subscribers at `/status?agents`, page by page. The operator of any version reads it, so fields are added and never changed.
 */
export interface AgentsOfTopic {
  readonly topic: string;
  /** Of the FeatureFlag that is served; absent while none is, and where flags do not come from a cluster. */
  readonly uid?: string;
  readonly generation?: number;
  /** Whether the source can't be asked for now: what it had last is served. */
  readonly stale?: true;
  /** Why the newest FeatureFlag is not served; the one before is. */
  readonly refused?: string;
  readonly subscribers: number;
  /** Subscribers that have what is served. */
  readonly current: number;
  /** Agents that refuse some of it, of those that say so. */
  readonly refusing: number;
  /** A newer version, which some of them try; `generation` and `current` are about that one. Absent while all are served the same. */
  readonly trial?: TrialCounts;
}

/** How a version that is pushed progressively fares with the agents of one proxy. */
export interface TrialCounts {
  readonly digest: string;
  /** Agents with a lower bucket are to have it. -1 while a proxy that this one feeds has not said that it goes by the same. */
  readonly reach: number;
  /** Agents that have a bucket: all that can try it. */
  readonly agents: number;
  /** The lowest of their buckets; absent without any. */
  readonly lowest?: number;
  /** Agents that are to have it now. */
  readonly wave: number;
  /** Of these, those that say that they have it. */
  readonly current: number;
  /** Refusals of flags that are not refused in the version before, or of all of it. */
  readonly refusals: number;
  /** One of the reasons, with the flag; absent without any. */
  readonly reason?: string;
}

/** What subscribers from one address have, at `/status?agents&addresses=…`. By it the operator knows whether a sidecar works. */
export interface AgentsOfAddress {
  readonly address: string;
  readonly subscriptions: number;
  /** Of these, those whose subscriber has what is served. */
  readonly current: number;
  /** Digests of the lists of FeatureFlags that agents there follow, as they say; absent if none does, or the proxy does not know lists. */
  readonly lists?: readonly string[];
}
