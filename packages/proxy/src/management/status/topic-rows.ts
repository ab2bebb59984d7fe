import type { TopicKey } from "@bunting/protocol";
import type { RemoteView } from "@bunting/remote";
import { cut, errorCode } from "@bunting/runtime";
import { standing } from "../../topic/topic-state.js";
import type { Topic } from "../../topic/topic.js";
import type { Grant } from "../../access/grants.js";
import { readersByTopic, type StatusReader } from "./readers.js";
import { Smallest } from "./smallest.js";
import type {
  HeldVersion,
  ShownReaders,
  TopicRow,
  TopicsSection,
  TopicStateName,
  VersionName,
} from "./status-view.js";

const rowsPerPage = 50;
const maxHeld = 4;
const maxRefusals = 3;
const maxReaders = 4;
const maxReasonCharacters = 300;
/** Time after which a subscriber that waits for a version is late; an edit that is just being sent is not shown. */
export const lateAfterMs = 1_000;

/** The viewer's query. */
export interface TopicQuery {
  /** A part of the topic's name, in lower case. */
  readonly search: string;
  /** A state, `late` (topics that may have late subscribers) or `refused` (those of which agents refuse something); empty: all topics. */
  readonly only: string;
  readonly offset: number;
}

/** Converts times of the monotonic clock. */
export interface Times {
  readonly monotonicMs: number;
  readonly fromMonotonic: (ms: number) => number;
}

/** A FeatureFlag's remote flag provider; undefined if it names none. */
export type RemoteViews = (topic: TopicKey) => RemoteView | undefined;

/**
 * One page of the topics that match the query. Topics that need a look come first.
 *
 * @param grants subscriptions by identity; undefined if callers have none, or the viewer may not see them
 */
export function topicRows(
  topics: Iterable<Topic>,
  query: TopicQuery,
  times: Times,
  grants: Iterable<Grant> | undefined,
  remoteOf: RemoteViews,
): TopicsSection {
  const { search, only, offset } = query;
  const first = new Smallest(rowsPerPage, compareRanked);
  const all: Ranked[] = [];
  let total = 0;
  for (const topic of topics) {
    if (!topic.key.includes(search) || !isAskedFor(topic, only, times)) continue;
    total++;
    const ranked = { topic, rank: rankOf(topic, times) };
    // The first page is read every second, so it must not sort all topics; the others are read only when a viewer turns to them.
    if (offset === 0) first.add(ranked);
    else all.push(ranked);
  }
  const shown = offset === 0 ? first.items : all.sort(compareRanked).slice(offset, offset + rowsPerPage);
  const readers = grants && readersByTopic(grants, new Set(shown.map(({ topic }) => topic.key)));
  const rows = shown.map(({ topic }) => {
    const row = rowOf(topic, times, readers && topicReaders(topic, readers.get(topic.key) ?? []));
    const remote = remoteOf(topic.key);
    return remote === undefined ? row : { ...row, remote };
  });
  return { total, offset, shown: rows };
}

interface Ranked {
  readonly topic: Topic;
  readonly rank: number;
}

function compareRanked(a: Ranked, b: Ranked): number {
  return a.rank - b.rank || (a.topic.key < b.topic.key ? -1 : 1);
}

/**
 * Number of late subscribers. Undefined if the newest version is too new for anyone to be late with it: those behind may still be late with an
 * earlier one, so each has to be examined.
 */
export function lateCount(
  { convergence, newest }: Topic,
  { monotonicMs }: Pick<Times, "monotonicMs">,
): number | undefined {
  if (convergence.behind === 0 || newest === undefined) return 0;
  return newest.publishedMs <= monotonicMs - lateAfterMs ? convergence.behind : undefined;
}

export function hasRefusals({ acks }: Topic): boolean {
  for (const { subscribers } of acks.rejections) if (subscribers > 0) return true;
  return false;
}

/** Why the newest document is refused, with its file where it has one; undefined if it is served. */
export function refusedDocument({ state }: Topic): string | undefined {
  const isRefused = state.kind === "stale" && errorCode(state.reason) === "DOCUMENT_INVALID";
  return isRefused ? cut(state.reason.message, maxReasonCharacters) : undefined;
}

/** The name of a version, with as much of its digest as is shown. */
export function versionNameOf({ digest, generation, resourceVersion }: VersionName): VersionName {
  return { generation, resourceVersion, digest: digest.slice(0, 8) };
}

function isAskedFor(topic: Topic, only: string, times: Times): boolean {
  switch (only) {
    case "":
      return true;
    case "late":
      return lateCount(topic, times) !== 0;
    case "refused":
      return hasRefusals(topic);
    default:
      return topic.state.kind === only;
  }
}

const rankOfState: Readonly<Record<TopicStateName, number>> = {
  stale: 1,
  missing: 3,
  starting: 4,
  deleted: 5,
  live: 6,
};

function rankOf(topic: Topic, times: Times): number {
  if ((lateCount(topic, times) ?? 0) > 0) return 0;
  return hasRefusals(topic) ? 2 : rankOfState[topic.state.kind];
}

function rowOf(topic: Topic, times: Times, readers: ShownReaders | undefined): TopicRow {
  const { key, state, newest, size, convergence, acks } = topic;
  const refusals = [...acks.rejections].filter(({ subscribers }) => subscribers > 0);
  return {
    topic: key,
    state: state.kind,
    reason:
      state.kind === "stale"
        ? cut(`${state.reason.message} (before: ${standing(state).kind})`, maxReasonCharacters)
        : undefined,
    subscribers: size,
    readers,
    late: lateCount(topic, times) ?? 0,
    newest:
      newest === undefined
        ? undefined
        : {
            ...versionNameOf({ ...newest.version, digest: newest.digest }),
            flags: newest.bytes.flags.size,
            bytes: newest.bytes.textLength,
            publishedMs: times.fromMonotonic(newest.publishedMs),
            afterMs: [...convergence.afterMs.values()].map((ms) => Math.round(ms * 10) / 10),
          },
    ...heldVersions(topic),
    refusals: refusals.slice(0, maxRefusals).map(({ flag, reason, subscribers }) => ({
      flag: flag === undefined ? undefined : cut(flag, 100),
      reason: cut(reason, maxReasonCharacters),
      agents: subscribers,
    })),
    moreRefusals: Math.max(0, refusals.length - maxRefusals),
  };
}

function topicReaders({ size }: Topic, readers: readonly StatusReader[]): ShownReaders {
  const known = readers.reduce((sum, { subscriptions }) => sum + subscriptions, 0);
  return {
    shown: readers
      .slice(0, maxReaders)
      .map(({ shortName, subscriptions }) => ({ name: shortName, subscriptions })),
    more: Math.max(0, readers.length - maxReaders),
    anonymous: Math.max(0, size - known),
  };
}

/** The newest versions that agents hold. Only a few are shown: agents may name any digest, so there may be as many as subscribers. */
function heldVersions({ acks, newest, versions }: Topic): Pick<TopicRow, "held" | "heldOtherwise"> {
  const newestFirst = new Smallest<{ sequence: number; version: HeldVersion }>(
    maxHeld,
    (a, b) => b.sequence - a.sequence || b.version.agents - a.version.agents,
  );
  let allAgents = 0;
  for (const [digest, agents] of acks.held) {
    allAgents += agents;
    const isNewest = digest === newest?.digest;
    const known = isNewest
      ? { ...newest.version, digest, sequence: newest.sequence }
      : versions.withDigest(digest);
    const version = { ...versionNameOf(known ?? { digest }), isNewest, agents };
    newestFirst.add({ sequence: known?.sequence ?? 0, version });
  }
  const held = newestFirst.items.map(({ version }) => version);
  return { held, heldOtherwise: held.reduce((left, { agents }) => left - agents, allAgents) };
}
