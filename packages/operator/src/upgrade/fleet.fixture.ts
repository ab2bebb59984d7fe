import type { FleetAgent, FleetPod, FleetRollout } from "./fleet.js";
import { rolloutSettings, type RolloutSettings } from "./rollout-settings.js";

export const oldImage = "registry.example/agent:1";
export const newImage = "registry.example/agent:2";

/** The settings of an AgentRollout from the old image to the new one, with the defaults of the resource type. */
export function settingsOf(changes: Partial<RolloutSettings> = {}): RolloutSettings {
  const settings = rolloutSettings({
    image: newImage,
    from: ["registry.example/agent:*"],
    ...{ maxUnavailable: "25%", maxInFlight: 10, perNode: 1 },
    ...{ minAge: "60s", observe: "30s", deadline: "120s" },
    ...{ failureThreshold: 3, rollbackOnHalt: true, paused: false, prePull: false },
  });
  return { ...settings, ...changes };
}

/** A rollout whose status is written. */
export function rolloutOf(
  changes: Partial<RolloutSettings> = {},
  rest: Partial<FleetRollout> = {},
): FleetRollout {
  const settings = settingsOf(changes);
  const progress = { image: settings.image, sinceMs: 0, failures: [] };
  return { name: "agents", uid: "uid-of-rollout", createdMs: 0, settings, progress, ...rest };
}

/** A Pod that runs with the old image, of its own workload and on its own node unless it is told otherwise. */
export function podOf(
  name: string,
  agent: Partial<FleetAgent> = {},
  rest: Partial<FleetPod> = {},
): FleetPod & { readonly agent: FleetAgent } {
  return {
    ...{ key: `shop/${name}`, namespace: "shop", uid: `uid-of-${name}`, resourceVersion: "1" },
    ...{ labels: {}, workload: name, node: `node-of-${name}`, addresses: [`ip-of-${name}`], createdMs: 0 },
    ...{ phase: "Running", isEnding: false, isReady: true },
    ...rest,
    agent: {
      ...{ list: "initContainers", index: 0, image: oldImage, imageID: `id:${oldImage}` },
      ...{ isStarted: true, isReady: true, restarts: 0 },
      ...agent,
    },
  };
}

/** The object without a field. */
export function without<T extends object, Field extends keyof T>(object: T, field: Field): Omit<T, Field> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== field)) as Omit<T, Field>;
}
