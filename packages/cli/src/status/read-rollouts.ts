import { featureFlagType, ProtocolError } from "@bunting/protocol";
import type { ClusterReader } from "../operator/cluster-reader.js";
import { addressesIn } from "../operator/object-address.js";
import { rolloutState, type RolledOutObject, type RolloutState } from "../rollout/rollout-state.js";
import type { ReportedStatus } from "./proxy-status.js";

/** FeatureFlags of which a proxy has a version that not all of its agents are to have, each once. */
export function rolledOutTopics(statuses: readonly ReportedStatus[]): readonly string[] {
  const topics = statuses.flatMap((status) => status.topics);
  return [...new Set(topics.flatMap(({ topic, trial }) => (trial === undefined ? [] : (topic ?? []))))];
}

/**
 * How far the rollouts of these FeatureFlags are, by the operator's account. Those that can't be read are left out, as are those that have ended
 * meanwhile: what each proxy says of them is shown in any case.
 */
export async function readRollouts(
  topics: readonly string[],
  reader: Pick<ClusterReader, "find">,
): Promise<readonly RolloutState[]> {
  const states = await Promise.all(
    topics
      .flatMap((topic) => addressesIn(topic, ""))
      .map(async (address) => {
        const answer = await reader.find({ type: featureFlagType, ...address });
        return answer.kind === "found" ? statesOf(answer.found) : [];
      }),
  );
  return states.flat().filter(({ phase }) => phase !== "Whole" && phase !== "AtOnce");
}

function statesOf(object: RolledOutObject): readonly RolloutState[] {
  try {
    return [rolloutState(object)];
  } catch (error) {
    if (error instanceof ProtocolError) return [];
    throw error;
  }
}
