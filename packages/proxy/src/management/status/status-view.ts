import type { RemoteView } from "@bunting/remote";

/**
 * What the status page shows, in sections that are sent when they change. The page's own scripts import these types. Times are ms since the
 * epoch, not ages: a section in which nothing happens stays the same, and is not sent again. There are no flags and no values of flags in it.
 */
export interface StatusView {
  readonly overview: Overview;
  readonly late: LateSection;
  /** Those that have gone without the newest version within the last ten minutes, and are not back. */
  readonly left: LateSection;
  readonly convergence: ConvergenceSection;
  readonly topics: TopicsSection;
  readonly watches: WatchesSection;
  readonly limits: LimitsSection;
}

export const topicStates = ["live", "starting", "missing", "deleted", "stale"] as const;
export type TopicStateName = (typeof topicStates)[number];

export interface Overview {
  readonly nowMs: number;
  /** The host name, which is that of the Pod: a replica knows nothing of the subscribers of others. */
  readonly replica: string;
  readonly version: string;
  readonly node: string;
  readonly startedMs: number;
  readonly isReady: boolean;
  readonly reason: string;
  readonly connections: number;
  readonly subscribers: number;
  /** Subscribers that speak bunting.sync.v1. */
  readonly agents: number;
  /** Subscribers that have waited for the newest version for more than a second, and since when the first of them has. */
  readonly late: number;
  readonly lateSinceMs: number | undefined;
  /** Subscribers that have gone without the newest version. */
  readonly left: number;
  /** Subscribers of FeatureFlags that do not exist or are not read yet. */
  readonly held: number;
  /** Streams that wait for their first flags, because many came at once. */
  readonly queued: number;
  readonly topics: Readonly<Record<TopicStateName, number>>;
  /** Topics whose newest document, a manifest or a FeatureFlag, the proxy refuses, and why it refuses one of them. */
  readonly invalid: number;
  readonly invalidReason: string | undefined;
  /** Topics of which agents refuse a flag or a version. */
  readonly refused: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly peerBytes: number;
  readonly peerBudgetBytes: number;
  readonly viewers: number;
  /** Programs by the name that agents give, most streams first; few. */
  readonly programs: readonly ProgramView[];
  readonly morePrograms: number;
}

export interface ProgramView {
  readonly name: string;
  readonly streams: number;
}

export interface LateSection {
  readonly total: number;
  /** The subscribers that have waited longest, or left last. */
  readonly shown: readonly LateSubscriber[];
}

export interface LateSubscriber {
  readonly topic: string;
  /** Left out for viewers from outside of the Pod. */
  readonly address?: string | undefined;
  /** Its Pod, else its ServiceAccount, with the namespace; undefined if callers have no identity, and left out as the address is. */
  readonly identity?: string | undefined;
  /** The program's own name; undefined for stock clients, which give none. */
  readonly program: string | undefined;
  /** When the first version was published that it does not have. */
  readonly sinceMs: number;
  readonly versions: number;
  /** The subscriber's version; undefined if none, or no longer known. */
  readonly has: VersionName | undefined;
  /** The digest of that version; undefined if its protocol has no acks. */
  readonly digest: string | undefined;
  /** When it left; undefined while it is connected. */
  readonly leftMs?: number;
}

export interface VersionName {
  readonly generation?: number | undefined;
  readonly resourceVersion?: string | undefined;
  /** Its first characters. */
  readonly digest: string;
}

/** The last ten minutes in equal steps, oldest first. Where nothing was published, times are -1. */
export interface ConvergenceSection {
  readonly stepMs: number;
  /** When the last step began. */
  readonly lastStepMs: number;
  /** Versions that were published. */
  readonly published: readonly number[];
  /** ms until half, 99 % and all of the subscribers had the slowest of them. */
  readonly halfMs: readonly number[];
  readonly mostMs: readonly number[];
  readonly allMs: readonly number[];
  /** The most subscribers that were late at a time. */
  readonly late: readonly number[];
}

export interface TopicsSection {
  /** Number of topics that match the search. */
  readonly total: number;
  /** Number of matches before the first one shown. */
  readonly offset: number;
  readonly shown: readonly TopicRow[];
}

export interface TopicRow {
  readonly topic: string;
  readonly state: TopicStateName;
  /** Reason of the staleness. */
  readonly reason: string | undefined;
  /** Absent if the FeatureFlag names no remote flag provider. */
  readonly remote?: RemoteView;
  readonly subscribers: number;
  /** Absent if callers have no identity, or the viewer may not see the identities. */
  readonly readers?: ShownReaders | undefined;
  readonly late: number;
  readonly newest: NewestVersion | undefined;
  /** Versions that agents have acknowledged, the newest first; a few. */
  readonly held: readonly HeldVersion[];
  /** Agents that hold other versions. */
  readonly heldOtherwise: number;
  readonly refusals: readonly RefusedPart[];
  readonly moreRefusals: number;
}

/** By ServiceAccount; those with the most subscriptions. */
export interface ShownReaders {
  readonly shown: readonly { readonly name: string; readonly subscriptions: number }[];
  /** ServiceAccounts that are not shown. */
  readonly more: number;
  /** Subscriptions of callers without an identity. */
  readonly anonymous: number;
}

export interface NewestVersion extends VersionName {
  readonly flags: number;
  readonly bytes: number;
  readonly publishedMs: number;
  /** ms until half, 99 % and all of the subscribers had it, as far as they do. */
  readonly afterMs: readonly number[];
}

export interface HeldVersion extends VersionName {
  readonly isNewest: boolean;
  readonly agents: number;
}

export interface RefusedPart {
  /** Undefined if the whole version is refused. */
  readonly flag: string | undefined;
  readonly reason: string;
  readonly agents: number;
}

/** Something that was counted since the start. */
export interface Tally {
  readonly what: string;
  readonly count: number;
  readonly lastMs: number;
}

export interface WatchesSection {
  /** False if the flags are read from a directory. */
  readonly isCluster: boolean;
  readonly object: number;
  readonly namespace: number;
  readonly cluster: number;
  /** FeatureFlags that are read only in turn, and names that wait to be read. */
  readonly unwatched: number;
  readonly waiting: number;
  readonly events: readonly Tally[];
  readonly relists: readonly Tally[];
  readonly errors: readonly Tally[];
  /** Absent without --backplane. */
  readonly shared?: SharedSection;
}

/** The backplane in Redis, as this replica sees it. */
export interface SharedSection {
  readonly state: "connected" | "degraded" | "recovering";
  /** Since when it has been in that state. */
  readonly sinceMs: number;
  /** Absent if Redis has not answered lately. */
  readonly replicas?: number;
  /** Why Redis can't be reached; absent while it can. */
  readonly reason?: string;
  /** The lease, while this replica is the owner, which watches for all: its fencing number, and when it was renewed. */
  readonly lease?: { readonly fence: number; readonly renewedMs: number };
  readonly followed: number;
  readonly direct: number;
  readonly forOthers: number;
  /** Delay of the last edit against its owner. */
  readonly lagMs?: number;
}

export interface LimitsSection {
  /** The latest first. `what` is the limit and the reason, with a slash in between. */
  readonly hit: readonly Tally[];
}
