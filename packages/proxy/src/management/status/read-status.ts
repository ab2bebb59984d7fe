import type { PeerMemory } from "@bunting/server";
import type { TopicKey } from "@bunting/protocol";
import { residentBytes, usedHeapBytes, type Clock, type Readiness } from "@bunting/runtime";
import type { Grant } from "../../access/grants.js";
import type { BackplaneReport } from "../../source/backplane/backplane-metrics.js";
import { remoteView, type RemoteReport } from "@bunting/remote";
import type { WatchCounts } from "../../source/kubernetes/watch-metrics.js";
import type { AgentProgram } from "../../subscriber/agent-programs.js";
import type { LeftSubscriber } from "../../subscriber/left-behind.js";
import type { ListFollower } from "../../subscriber/list-follower.js";
import type { Topic } from "../../topic/topic.js";
import { lateSubscribers, leftSubscribers } from "./late-subscribers.js";
import type { StatusObservations } from "./status-observations.js";
import type { Overview, SharedSection, StatusView, TopicsSection, WatchesSection } from "./status-view.js";
import {
  hasRefusals,
  refusedDocument,
  topicRows,
  type RemoteViews,
  type Times,
  type TopicQuery,
} from "./topic-rows.js";

/** This process, as the status page shows it. */
export interface ShownReplica {
  readonly name: string;
  readonly version: string;
  readonly startedMs: number;
  readonly memory: Pick<PeerMemory, "bytes" | "budgetBytes">;
  readonly readiness: () => Readiness;
  readonly connections: () => number;
}

/** Where its flags come from. */
export interface ShownSources {
  readonly watches: () => WatchCounts;
  /** The backplane as this replica sees it; undefined without --backplane. */
  readonly backplane: () => BackplaneReport | undefined;
  /** What is known of a FeatureFlag's remote; absent if the source serves none. */
  readonly remoteOf?: (topic: TopicKey) => RemoteReport | undefined;
}

/** Who gets them. */
export interface ShownSubscribers {
  readonly programs: () => Iterable<AgentProgram>;
  /** Subscribers that have gone without the newest version. */
  readonly leftBehind: () => ReadonlySet<LeftSubscriber>;
  /** Agents that follow a list of FeatureFlags. */
  readonly followers?: () => Iterable<ListFollower>;
  /** Subscriptions by identity; absent if callers have none. */
  readonly grants?: (() => Iterable<Grant>) | undefined;
}

export interface StatusParts {
  readonly replica: ShownReplica;
  readonly clocks: { readonly clock: Clock; readonly fromMonotonic: (ms: number) => number };
  readonly observations: StatusObservations;
  readonly sources: ShownSources;
  readonly topics: () => Iterable<Topic>;
  readonly subscribers: ShownSubscribers;
}

const maxPrograms = 6;

/** All that the page shows, at this moment. */
export function readStatus(parts: StatusParts, viewers: number): StatusView {
  const { observations, topics, subscribers } = parts;
  const times = timesOf(parts);
  const late = lateSubscribers(topics(), times);
  return {
    overview: overview(parts, late.total, late.shown[0]?.sinceMs, viewers),
    late,
    left: leftSubscribers(subscribers.leftBehind(), times),
    convergence: observations.history.read(),
    topics: topicRows(
      topics(),
      { search: "", only: "", offset: 0 },
      times,
      subscribers.grants?.(),
      remoteViews(parts),
    ),
    watches: watchesSection(parts),
    limits: { hit: observations.tally.of("limit") },
  };
}

/** One page of the topics that a viewer searches, with their readers if it may see them. */
export function searchTopics(parts: StatusParts, query: TopicQuery, seesSubscribers: boolean): TopicsSection {
  return topicRows(
    parts.topics(),
    query,
    timesOf(parts),
    seesSubscribers ? parts.subscribers.grants?.() : undefined,
    remoteViews(parts),
  );
}

export function remoteViews({ sources, clocks }: StatusParts): RemoteViews {
  return (topic) => {
    const report = sources.remoteOf?.(topic);
    return report && remoteView(report, clocks.fromMonotonic);
  };
}

export function timesOf({ clocks: { clock, fromMonotonic } }: StatusParts): Times {
  return { monotonicMs: clock.monotonicMs(), fromMonotonic };
}

function overview(
  parts: StatusParts,
  late: number,
  lateSinceMs: number | undefined,
  viewers: number,
): Overview {
  const { observations, replica } = parts;
  const { clock, fromMonotonic } = parts.clocks;
  const { leftBehind, programs: allPrograms } = parts.subscribers;
  const counts = { live: 0, starting: 0, missing: 0, deleted: 0, stale: 0 };
  let subscribers = 0;
  let refused = 0;
  let invalid = 0;
  let invalidReason: string | undefined;
  for (const topic of parts.topics()) {
    counts[topic.state.kind]++;
    subscribers += topic.size + (topic.trial?.size ?? 0);
    if (hasRefusals(topic)) refused++;
    const reason = refusedDocument(topic);
    if (reason !== undefined) invalid++;
    invalidReason ??= reason;
  }
  const programs = [...allPrograms()].sort((a, b) => b.streams - a.streams);
  const { isReady, reason } = replica.readiness();
  return {
    nowMs: fromMonotonic(clock.monotonicMs()),
    replica: replica.name,
    version: replica.version,
    node: process.version,
    startedMs: fromMonotonic(replica.startedMs),
    isReady,
    reason,
    connections: replica.connections(),
    subscribers,
    agents: observations.agentSubscriptions,
    late,
    lateSinceMs,
    left: leftBehind().size,
    held: observations.held,
    queued: observations.queued,
    topics: counts,
    invalid,
    invalidReason,
    refused,
    residentBytes: residentBytes(),
    heapBytes: usedHeapBytes(),
    peerBytes: replica.memory.bytes,
    peerBudgetBytes: replica.memory.budgetBytes,
    viewers,
    programs: programs.slice(0, maxPrograms).map(({ name, streams }) => ({ name, streams })),
    morePrograms: Math.max(0, programs.length - maxPrograms),
  };
}

function watchesSection(parts: StatusParts): WatchesSection {
  const { observations } = parts;
  const shared = sharedSection(parts);
  const { open, unwatched, waiting } = parts.sources.watches();
  const { tally, isCluster } = observations;
  return {
    isCluster,
    ...open,
    unwatched,
    waiting,
    events: tally.of("event"),
    relists: tally.of("relist"),
    errors: tally.of("error"),
    ...(shared === undefined ? {} : { shared }),
  };
}

function sharedSection({ sources, clocks }: StatusParts): SharedSection | undefined {
  const { clock, fromMonotonic } = clocks;
  const report = sources.backplane();
  if (report === undefined) return undefined;
  const { state, stateMs, reason, replicas, lease, followed, direct, forOthers, lagMs } = report;
  const sinceMs = (agoMs: number): number => fromMonotonic(clock.monotonicMs() - agoMs);
  return {
    ...{ state, sinceMs: sinceMs(stateMs) },
    ...(reason === undefined ? {} : { reason }),
    ...(replicas === undefined ? {} : { replicas: replicas.length }),
    ...(lease === undefined ? {} : { lease: { fence: lease.fence, renewedMs: sinceMs(lease.renewedAgoMs) } }),
    ...{ followed, direct, forOthers },
    ...(lagMs === undefined ? {} : { lagMs }),
  };
}
