import type { Topic } from "../topic/topic.js";
import { refusedDocument } from "./status/topic-rows.js";

/**
 * The content of `/status?agents`: of each topic, which version of its FeatureFlag is served, and how many subscribers have it. The operator of any
 * version reads it, so fields are added and never changed.
 */
export interface AgentCounts {
  readonly topics: readonly AgentsOfTopic[];
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
}

export function agentCounts(topics: Iterable<Topic>): AgentCounts {
  return { topics: Array.from(topics, agentsOf) };
}

function agentsOf(topic: Topic): AgentsOfTopic {
  const { key, state, newest, size, convergence, acks } = topic;
  const refused = refusedDocument(topic);
  const { uid, generation } = newest?.version ?? {};
  return {
    topic: key,
    ...(uid === undefined ? {} : { uid }),
    ...(generation === undefined ? {} : { generation }),
    ...(state.kind === "stale" ? { stale: true } : {}),
    ...(refused === undefined ? {} : { refused }),
    subscribers: size,
    current: newest === undefined ? 0 : size - convergence.behind,
    refusing: acks.refusing,
  };
}
