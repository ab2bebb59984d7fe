import type { JsonObject } from "@bunting/protocol";
import { containersOf, type ShownContainer, type ShownPod } from "../shown-pod.js";

/** What a Pod has more than another one. */
export interface AddedParts {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly containers: readonly ShownContainer[];
  readonly volumes: readonly JsonObject[];
  /** By container, what it has more. */
  readonly completed: readonly CompletedContainer[];
}

export interface CompletedContainer {
  readonly name: string;
  readonly env: NonNullable<ShownContainer["env"]>;
  readonly mounts: NonNullable<ShownContainer["volumeMounts"]>;
}

/** What the second Pod has more than the first: both as the API server would store them, so that its own defaults are in both. */
export function addedParts(before: ShownPod, after: ShownPod): AddedParts {
  const known = new Map(containersOf(before).map((each) => [each.name, each]));
  const volumes = new Set((before.spec.volumes ?? []).map(({ name }) => name));
  const completed = containersOf(after).flatMap((each) => {
    const former = known.get(each.name);
    return former === undefined ? [] : completedContainer(former, each);
  });
  return {
    labels: addedEntries(before.metadata?.labels, after.metadata?.labels),
    annotations: addedEntries(before.metadata?.annotations, after.metadata?.annotations),
    containers: containersOf(after).filter(({ name }) => !known.has(name)),
    volumes: (after.spec.volumes ?? []).filter(({ name }) => !volumes.has(name) && !isTokenVolume(name)),
    completed,
  };
}

/** The API server makes a name for this one with each Pod. */
function isTokenVolume(name: unknown): boolean {
  return typeof name === "string" && name.startsWith("kube-api-access-");
}

function completedContainer(before: ShownContainer, after: ShownContainer): readonly CompletedContainer[] {
  const names = new Set((before.env ?? []).map(({ name }) => name));
  const paths = new Set((before.volumeMounts ?? []).map(({ mountPath }) => mountPath));
  const env = (after.env ?? []).filter(({ name }) => !names.has(name));
  const mounts = (after.volumeMounts ?? []).filter(({ mountPath }) => !paths.has(mountPath));
  return env.length + mounts.length === 0 ? [] : [{ name: after.name, env, mounts }];
}

function addedEntries(
  before: Readonly<Record<string, string>> = {},
  after: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(after).filter(([key, value]) => before[key] !== value));
}
