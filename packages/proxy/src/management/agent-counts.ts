import type { RemoteView } from "@bunting/remote";
import type { AgentsOfTopic } from "@bunting/protocol";
import type { Topic } from "../topic/topic.js";
import { isAbsent } from "../topic/topic-state.js";
import { trialCounts } from "../topic/trial-counts.js";
import { refusedDocument, type RemoteViews } from "./status/topic-rows.js";

/**
 * The content of `/status?agents`: of each topic, which version of its FeatureFlag is served, and how many subscribers have it.
 *
 * Topics whose FeatureFlag does not exist are left out: anybody may make those up, and there is no status to write.
 */
export interface AgentCounts {
  readonly topics: readonly ServedTopic[];
  /** Position of the next page; absent on the last one. */
  readonly next?: number;
}

export interface ServedTopic extends AgentsOfTopic {
  /** The FeatureFlag's remote flag provider, as the replica that reads it knows it; absent at the others, and without a provider. */
  readonly remote?: RemoteView;
}

/** Topics of a page: what is said of one has 2.5 KB at most, and the operator reads answers of up to 4 MB. */
export const countsPerPage = 1_000;

/** @param from position of the page, 0 or a `next`; undefined: all topics at once, for operators that know no pages */
export function agentCounts(topics: Iterable<Topic>, from?: number, remoteOf?: RemoteViews): AgentCounts {
  const [begin, most] = from === undefined ? [0, Infinity] : [from, countsPerPage];
  const page: ServedTopic[] = [];
  let position = 0;
  for (const topic of topics) {
    // Topics begin and end between two pages: one that is passed over by that is on the next reading.
    if (position >= begin && !isAbsent(topic.state)) {
      if (page.length === most) return { topics: page, next: position };
      page.push(agentsOf(topic, remoteOf?.(topic.key)));
    }
    position++;
  }
  return { topics: page };
}

function agentsOf(topic: Topic, remote: RemoteView | undefined): ServedTopic {
  const { key, state, newest, size, convergence, acks } = topic;
  const refused = refusedDocument(topic);
  const trial = trialCounts(topic);
  const { uid, generation } = (topic.trial?.snapshot ?? newest)?.version ?? {};
  const tried = trial === undefined ? {} : { trial };
  const subscribers = size + (topic.trial?.size ?? 0);
  const current = newest === undefined ? 0 : size - convergence.behind;
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
