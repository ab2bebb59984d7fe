import { rolloutAnnotations } from "@bunting/featureflags/resources";
import { CliError } from "../cli-error.js";
import type { RolloutTask } from "./rollout-options.js";
import type { RolloutState } from "./rollout-state.js";

/** A change of the FeatureFlag by which somebody orders something, as a merge patch. */
export interface RolloutOrder {
  readonly patch: { readonly metadata?: object; readonly spec?: object };
  /** What has been done, in a sentence. */
  readonly done: string;
}

/**
 * Patch that gives the order. Orders of resume and abort are annotations, which make no new generation.
 *
 * @param now a text that differs from all before
 * @throws CliError USAGE_INVALID where there is nothing to order
 */
export function rolloutOrder(
  task: Exclude<RolloutTask, "status">,
  state: RolloutState,
  now: string,
): RolloutOrder {
  const { name, phase, digest } = state;
  if (phase === "AtOnce")
    throw CliError.usageInvalid(
      `${name} has no spec.rollout: all agents have its newest version already. Add it before the next edit`,
    );
  switch (task) {
    case "pause":
      return {
        patch: { spec: { rollout: { paused: true } } },
        done: `${name} is paused: no further wave begins, also of later versions.`,
      };
    case "resume":
      return {
        patch: {
          metadata: {
            annotations: { [rolloutAnnotations.resumed]: now, [rolloutAnnotations.aborted]: null },
          },
          spec: { rollout: { paused: false } },
        },
        done: `${name} is resumed: what agents refuse of ${digest.slice(0, 12)} now is forgiven.`,
      };
    case "abort":
      if (phase === "Whole")
        throw CliError.usageInvalid(
          `all agents of ${name} are to have its newest version: to take it back, edit the flags`,
        );
      return {
        patch: { metadata: { annotations: { [rolloutAnnotations.aborted]: digest } } },
        done: `${name} is given up: agents that have ${digest.slice(0, 12)} get the version before back. The FeatureFlag still has it: edit the flags.`,
      };
  }
}
