import { isInFlight } from "./agent-record.js";
import type { Fleet, FleetAgent, FleetPod, FleetRollout } from "./fleet.js";
import { isReplaced } from "./replaced-image.js";
import type { RolloutSettings } from "./rollout-settings.js";
import { selects } from "./selects.js";

/** A Pod with a sidecar, and the rollout that decides about it. */
export interface ClaimedPod {
  readonly pod: FleetPod;
  readonly agent: FleetAgent;
  readonly rollout: FleetRollout;
}

/**
 * Which rollout decides about which Pod: the one that has it under way, else the youngest that is for it. A rollout is for what it would replace, and
 * for what has its image already: so an older one never takes back what a younger one has done, and every Pod comes to rest. No rollout decides about a
 * Pod outside of its selectors: whoever may edit a Pod can write there that some rollout has it under way.
 */
export function claims({ rollouts, pods, namespaces }: Fleet): readonly ClaimedPod[] {
  const youngestFirst = [...rollouts].sort((a, b) => b.createdMs - a.createdMs || compare(b.name, a.name));
  return pods.flatMap((pod): readonly ClaimedPod[] => {
    const { agent } = pod;
    if (agent === undefined) return [];
    const { record } = agent;
    const selecting = youngestFirst.filter((each) => isSelected(each, pod, namespaces));
    const holder = isInFlight(record) ? selecting.find(({ uid }) => uid === record?.rollout) : undefined;
    const rollout = holder ?? selecting.find(({ settings }) => isForImage(settings, agent.image));
    return rollout === undefined ? [] : [{ pod, agent, rollout }];
  });
}

function isSelected(
  { settings: { namespaceSelector, podSelector } }: FleetRollout,
  pod: FleetPod,
  namespaces: Fleet["namespaces"],
): boolean {
  const labels = namespaces.get(pod.namespace);
  return labels !== undefined && selects(namespaceSelector, labels) && selects(podSelector, pod.labels);
}

function isForImage(settings: RolloutSettings, image: string): boolean {
  return image === settings.image || isReplaced(settings, image);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
