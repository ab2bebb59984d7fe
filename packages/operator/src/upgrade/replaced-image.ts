import type { RolloutSettings } from "./rollout-settings.js";
import { matchesPattern } from "./selects.js";

/** Whether it is an image that the rollout replaces. */
export function isReplaced({ from }: Pick<RolloutSettings, "from">, image: string): boolean {
  return from.some((pattern) => matchesPattern(pattern, image));
}
