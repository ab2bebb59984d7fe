import { isImageReference } from "../desired/image-reference.js";
import type { FleetAgent } from "./fleet.js";
import type { RolloutSettings } from "./rollout-settings.js";
import { matchesPattern } from "./selects.js";

/** Whether it is an image that the rollout replaces. */
export function isReplaced({ from }: Pick<RolloutSettings, "from">, image: string): boolean {
  return from.some((pattern) => matchesPattern(pattern, image));
}

/**
 * The image of before that a sidecar may be given back; undefined if there is none. Whoever may edit a Pod, or only its status, can write any image there: one that
 * the rollout would not have replaced was never that of the sidecar.
 */
export function imageToRestore(
  { previous }: Pick<FleetAgent, "previous">,
  settings: Pick<RolloutSettings, "from">,
): string | undefined {
  return previous !== undefined && isImageReference(previous) && isReplaced(settings, previous)
    ? previous
    : undefined;
}
