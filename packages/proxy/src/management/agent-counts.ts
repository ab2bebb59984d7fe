import type { RemoteView } from "@bunting/remote";
import type { TrialCounts } from "../source/trial.js";
import type { Topic } from "../topic/topic.js";
import { isAbsent } from "../topic/topic-state.js";
import { trialCounts } from "../topic/trial-counts.js";
import { remoteViewOf, type RemoteLookup } from "./status/remote-view.js";
import { refusedDocument } from "./status/topic-rows.js";

/**
 * The content of `/status?agents`: of each topic, which version of its FeatureFlag is served, and how many subscribers have it. The operator of any
 * version reads it, so fields are added and never changed.
 *
 * Topics whose FeatureFlag does not exist are left out: anybody may make those up, and there is no status to write.
 */
export interface AgentCounts {
  readonly topics: readonly AgentsOfTopic[];
  /** Position of the next page; absent on the last one. */
  readonly next?: number;
}

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
  /** The FeatureFlag's remote flag provider, as the replica that reads it knows it; absent at the others, and without a provider. */
  readonly remote?: RemoteView;
}

/** Topics of a page: what is said of one has 2.5 KB at most, and the operator reads answers of up to 4 MB. */
export const countsPerPage = 1_000;

/** @param from position of the page, 0 or a `next`; undefined: all topics at once, for operators that know no pages */
export function agentCounts(topics: Iterable<Topic>, from?: number, remotes?: RemoteLookup): AgentCounts {
  const [begin, most] = from === undefined ? [0, Infinity] : [from, countsPerPage];
  const page: AgentsOfTopic[] = [];
  let position = 0;
  for (const topic of topics) {
    // Topics begin and end between two pages: one that is passed over by that is on the next reading.
    if (position >= begin && !isAbsent(topic.state)) {
      if (page.length === most) return { topics: page, next: position };
      page.push(agentsOf(topic, remotes));
    }
    position++;
  }
  return { topics: page };
}

function agentsOf(topic: Topic, remotes: RemoteLookup | undefined): AgentsOfTopic {
  const { key, state, newest, size, convergence, acks } = topic;
  const refused = refusedDocument(topic);
  const trial = trialCounts(topic);
  const { uid, generation } = (topic.trial?.snapshot ?? newest)?.version ?? {};
  const tried = trial === undefined ? {} : { trial };
  const subscribers = size + (topic.trial?.size ?? 0);
  const current = newest === undefined ? 0 : size - convergence.behind;
  const remote = remotes && remoteViewOf(key, remotes);
  return {
    topic: key,
    ...(uid === undefined ? {} : { uid }),
    ...(generation === undefined ? {} : { generation }),
    ...(state.kind === "stale" ? { stale: true } : {}),
    ...(refused === undefined ? {} : { refused }),
    subscribers,
    current: trial === undefined ? current : trial.current,
    refusing: acks.refusing + (topic.trial?.acks.refusing ?? 0),
    ...tried,
    ...(remote?.state === undefined ? {} : { remote }),
  };
}
