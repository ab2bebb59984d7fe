import type { ToldTrial } from "../../push/told-push.js";
import type { ToldRemote } from "./remote-verdicts.js";

/** What one proxy says of a topic: the answer to `/status?agents`, as far as it is for us. */
export interface TopicAgents {
  readonly topic: string;
  /** Of the FeatureFlag that it serves; absent while it serves none. */
  readonly uid?: string;
  readonly generation?: number;
  /** Whether it can't ask the API server for now. */
  readonly stale?: true;
  /** Why it does not serve the newest FeatureFlag. */
  readonly refused?: string;
  readonly subscribers: number;
  /** Of these, how many have what it serves. */
  readonly current: number;
  /** And how many refuse some of it. */
  readonly refusing: number;
  /** A newer version, which only some of them are to have yet. */
  readonly trial?: ToldTrial;
  /** Absent without a remote flag provider. */
  readonly remote?: ToldRemote;
}

const featureFlagTopic = /^[^/]+\/[^/]+$/;

/**
 * What all proxies say of each FeatureFlag, by `namespace/name`.
 *
 * @param served the only namespaces of FeatureFlags that count: anybody may ask a proxy for others; absent: all
 */
export function toldByFlag(
  reports: readonly (readonly TopicAgents[])[],
  served?: readonly string[],
): ReadonlyMap<string, readonly TopicAgents[]> {
  const told = new Map<string, TopicAgents[]>();
  for (const each of reports.flat()) {
    if (!featureFlagTopic.test(each.topic)) continue;
    if (served?.includes(each.topic.split("/", 1).join()) === false) continue;
    const before = told.get(each.topic);
    if (before === undefined) told.set(each.topic, [each]);
    else before.push(each);
  }
  return told;
}

/** What proxies say of a FeatureFlag, in two texts: a change of `versions` is news, one of `counts` alone means that Pods came or went. */
export interface ToldStamp {
  readonly versions: string;
  readonly counts: string;
}

export function toldStamp(told: readonly TopicAgents[]): ToldStamp {
  const asked = told.filter(({ subscribers }) => subscribers > 0);
  const versions = asked.map(({ uid, generation, stale, refused, subscribers, current, refusing }) =>
    JSON.stringify([uid, generation, stale, refused, current < subscribers, refusing > 0]),
  );
  const counts = asked.map(({ subscribers, current, refusing }) => [subscribers, current, refusing].join());
  const remotes = told.flatMap(({ remote }) =>
    remote === undefined ? [] : `${remote.state} ${remote.reason} ${remote.remarks}`,
  );
  return { versions: [...new Set([...versions, ...remotes])].sort().join(), counts: counts.sort().join(" ") };
}
