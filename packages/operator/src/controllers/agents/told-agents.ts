import type { AgentsOfTopic } from "@bunting/protocol";
import type { ToldRemote } from "./remote-verdicts.js";

/** What one proxy says of a topic, as far as it is for us. */
export interface TopicAgents extends AgentsOfTopic {
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
