import { isInFlight } from "./agent-record.js";
import type { Fleet, FleetAgent, FleetPod, FleetRollout } from "./fleet.js";
import { matchesPattern, selects } from "./selects.js";

/** A Pod with a sidecar, and the rollout that decides about it. */
export interface ClaimedPod {
  readonly pod: FleetPod;
  readonly agent: FleetAgent;
  readonly rollout: FleetRollout;
}

/**
 * Which rollout decides about which Pod: the one that has it under way, else the youngest that is for it. A rollout is for what it would replace, and
 * for what has its image already: so an older one never takes back what a younger one has done, and every Pod comes to rest.
 */
export function claims({ rollouts, pods, namespaces }: Fleet): readonly ClaimedPod[] {
  const youngestFirst = [...rollouts].sort((a, b) => b.createdMs - a.createdMs || compare(b.name, a.name));
  return pods.flatMap((pod): readonly ClaimedPod[] => {
    const { agent } = pod;
    if (agent === undefined) return [];
    const { record } = agent;
    const holder = isInFlight(record) ? rollouts.find(({ uid }) => uid === record?.rollout) : undefined;
    const rollout = holder ?? youngestFirst.find((each) => isFor(each, pod, agent, namespaces));
    return rollout === undefined ? [] : [{ pod, agent, rollout }];
  });
}

function isFor(
  { settings }: FleetRollout,
  pod: FleetPod,
  agent: FleetAgent,
  namespaces: Fleet["namespaces"],
): boolean {
  const { image, from, namespaceSelector, podSelector } = settings;
  const labels = namespaces.get(pod.namespace);
  return (
    labels !== undefined &&
    selects(namespaceSelector, labels) &&
    selects(podSelector, pod.labels) &&
    (agent.image === image || from.some((pattern) => matchesPattern(pattern, agent.image)))
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
