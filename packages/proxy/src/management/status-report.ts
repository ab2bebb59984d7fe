import type { TopicKey, TrialCounts } from "@bunting/protocol";
import { remoteFlags, remoteView, type RemoteView } from "@bunting/remote";
import type { BackplaneReport } from "../source/backplane/backplane-metrics.js";
import type { WatchCounts } from "../source/kubernetes/watch-metrics.js";
import type { FlagRejection } from "../topic/topic-acks.js";
import { timesOf, type StatusParts } from "./status/read-status.js";
import { lateSubscribers, leftSubscribers } from "./status/late-subscribers.js";
import { readersByTopic, type StatusReader } from "./status/readers.js";
import { refusedDocument } from "./status/topic-rows.js";
import type { LateSection, LateSubscriber } from "./status/status-view.js";
import type { Topic } from "../topic/topic.js";
import { standing } from "../topic/topic-state.js";
import { trialCounts } from "../topic/trial-counts.js";

/** The content of /status: names of topics, readers and late subscribers, versions and counts, and no flags but the names of those that are refused, or of a remote. */
export interface StatusReport {
  readonly version: string;
  readonly uptimeSeconds: number;
  readonly isReady: boolean;
  readonly reason: string;
  readonly watches: WatchCounts["open"];
  /** The backplane as this replica sees it; absent without --backplane. */
  readonly backplane?: BackplaneReport;
  readonly connections: number;
  readonly subscribers: number;
  /** Subscribers that do not have the newest version of their topic yet. */
  readonly behind: number;
  /** Those that have been behind for longest, for more than a second. */
  readonly late: LateReport;
  /** Those that have gone without the newest version within the last ten minutes, and are not back; the latest first. */
  readonly leftBehind: LateReport;
  /** By topic, why the proxy refuses the newest manifest or FeatureFlag, with the file; the version before, if any, is served. Absent if there is none. */
  readonly refusedDocuments?: Readonly<Record<string, string>>;
  readonly topics: readonly TopicReport[];
}

export interface LateReport {
  readonly total: number;
  readonly shown: readonly LateSubscriberReport[];
}

/** `address` and `identity` are left out where `readers` are. */
export interface LateSubscriberReport extends Pick<
  LateSubscriber,
  "topic" | "address" | "identity" | "program" | "versions" | "digest"
> {
  readonly behindSeconds: number;
  readonly leftSecondsAgo?: number;
}

export interface TopicReport {
  readonly topic: string;
  readonly state: string;
  /** While the state is `stale`: the state before, and the reason. */
  readonly standing?: string;
  readonly staleReason?: string;
  /** Absent if the FeatureFlag names no remote flag provider; with the names of the flags that are of the remote, a thousand at most. */
  readonly remote?: RemoteView & { readonly remoteFlags?: readonly string[] };
  readonly subscribers: number;
  /** Absent while there is nothing to serve. */
  readonly newest?: {
    /** The number of versions since this proxy created the topic. */
    readonly sequence: number;
    readonly digest: string;
    readonly bytes: number;
    readonly flags: number;
    readonly uid: string | undefined;
    readonly generation: number | undefined;
    readonly resourceVersion: string | undefined;
    readonly ageSeconds: number;
    /** Subscribers at the publication that have the version, and those that do not. */
    readonly arrived: number;
    readonly behind: number;
    /** ms from when the source noticed the change until 50, 99 and 100 % of them had it. */
    readonly afterMs: Readonly<Record<string, number>>;
  };
  /** By digest, how many agents say they hold that version; bunting.sync.v1 only. */
  readonly held?: Readonly<Record<string, number>>;
  /** By ServiceAccount, how many subscriptions it has; of callers with an identity only, and not for viewers from outside of the Pod. */
  readonly readers?: Readonly<Record<string, number>>;
  /** How many agents refuse something now; absent if none does. */
  readonly refusing?: number;
  /** Flags that agents refuse now; without a flag, whole versions. */
  readonly rejections?: readonly FlagRejection[];
  /** A newer version, which only some agents are to have yet; absent without one. */
  readonly trial?: TrialCounts;
}

export function statusReport(parts: StatusParts, seesReaders: boolean): StatusReport {
  const { replica, clocks, sources, subscribers } = parts;
  const nowMs = clocks.clock.monotonicMs();
  const shared = sources.backplane();
  const times = timesOf(parts);
  const refused = [...parts.topics()].flatMap((topic) => {
    const reason = refusedDocument(topic);
    return reason === undefined ? [] : [[topic.key, reason] as const];
  });
  const late = (section: LateSection): LateReport =>
    lateReport(section, clocks.fromMonotonic(nowMs), seesReaders);
  const readers = readersByTopic((seesReaders ? subscribers.grants?.() : undefined) ?? []);
  const topics = [...parts.topics()].map((topic) => ({
    ...topicReport(topic, nowMs),
    ...remoteReport(topic.key, parts),
    ...readersReport(readers.get(topic.key)),
  }));
  topics.sort((a, b) => (a.topic < b.topic ? -1 : 1));
  const sum = (count: (topic: TopicReport) => number): number =>
    topics.reduce((total, topic) => total + count(topic), 0);
  return {
    version: replica.version,
    uptimeSeconds: seconds(nowMs - replica.startedMs),
    ...replica.readiness(),
    watches: sources.watches().open,
    ...(shared === undefined ? {} : { backplane: shared }),
    connections: replica.connections(),
    subscribers: sum((topic) => topic.subscribers),
    behind: sum((topic) => topic.newest?.behind ?? 0),
    late: late(lateSubscribers(parts.topics(), times)),
    leftBehind: late(leftSubscribers(subscribers.leftBehind(), times)),
    ...(refused.length === 0 ? {} : { refusedDocuments: Object.fromEntries(refused) }),
    topics,
  };
}

function lateReport({ total, shown }: LateSection, nowMs: number, seesSubscribers: boolean): LateReport {
  return {
    total,
    shown: shown.map(({ topic, address, identity, program, versions, digest, sinceMs, leftMs }) => ({
      topic,
      ...(seesSubscribers ? { address, identity } : {}),
      program,
      behindSeconds: seconds((leftMs ?? nowMs) - sinceMs),
      versions,
      digest,
      ...(leftMs === undefined ? {} : { leftSecondsAgo: seconds(nowMs - leftMs) }),
    })),
  };
}

function topicReport(topic: Topic, nowMs: number): TopicReport {
  const { key, state, newest, size, convergence, acks } = topic;
  const rejections = [...acks.rejections].filter((rejection) => rejection.subscribers > 0);
  const trial = trialCounts(topic);
  return {
    topic: key,
    state: state.kind,
    ...(state.kind === "stale" ? { standing: standing(state).kind, staleReason: state.reason.message } : {}),
    subscribers: size + (topic.trial?.size ?? 0),
    ...(newest === undefined
      ? {}
      : {
          newest: {
            sequence: newest.sequence,
            digest: newest.digest,
            bytes: newest.bytes.textLength,
            flags: newest.bytes.flags.size,
            uid: newest.version.uid,
            generation: newest.version.generation,
            resourceVersion: newest.version.resourceVersion,
            ageSeconds: seconds(nowMs - newest.publishedMs),
            arrived: convergence.arrived,
            behind: convergence.behind,
            afterMs: Object.fromEntries(
              [...convergence.afterMs].map(([share, ms]) => [String(share * 100), Math.round(ms * 10) / 10]),
            ),
          },
        }),
    ...(acks.held.size === 0 ? {} : { held: Object.fromEntries(acks.held) }),
    ...(acks.refusing === 0 ? {} : { refusing: acks.refusing }),
    ...(rejections.length === 0 ? {} : { rejections }),
    ...(trial === undefined ? {} : { trial }),
  };
}

function remoteReport(topic: TopicKey, { sources, clocks }: StatusParts): Pick<TopicReport, "remote"> {
  const report = sources.remoteOf?.(topic);
  if (report === undefined) return {};
  const remote = remoteView(report, clocks.fromMonotonic);
  const names = remoteFlags(report);
  return { remote: names === undefined ? remote : { ...remote, remoteFlags: names } };
}

function readersReport(readers: readonly StatusReader[] | undefined): Pick<TopicReport, "readers"> {
  if (readers === undefined) return {};
  return { readers: Object.fromEntries(readers.map(({ name, subscriptions }) => [name, subscriptions])) };
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
