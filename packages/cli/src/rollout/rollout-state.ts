import {
  defaultedFlagRollout,
  isGivenUp,
  readFlagRolloutStatus,
  type FlagRollout,
  type FlagRolloutStatus,
} from "@bunting/featureflags/resources";
import type { Condition, KubeObject } from "@bunting/kube";
import { atOnce, digestingDocument, documentOfFeatureFlag } from "@bunting/protocol";

/** A FeatureFlag, as far as its rollout goes. */
export interface RolledOutObject extends KubeObject {
  readonly spec?: { readonly rollout?: FlagRollout | null; readonly [field: string]: unknown };
  readonly status?: {
    readonly rollout?: unknown;
    readonly agents?: { readonly total: number; readonly current: number; readonly refusing: number };
    readonly conditions?: readonly Condition[];
  };
}

/** How far the newest version of a FeatureFlag is. */
export interface RolloutState {
  readonly name: string;
  /** Of the newest version. */
  readonly digest: string;
  /** `AtOnce`: there is no spec.rollout. `Unknown`: the operator has not said anything of the newest version. */
  readonly phase: FlagRolloutStatus["phase"] | "AtOnce" | "Unknown";
  readonly wave: number;
  /** Percentages; the last is 100. */
  readonly waves: readonly number[];
  /** Of 10,000 buckets of agents. */
  readonly reach: number;
  readonly isAborted: boolean;
  readonly message: string;
  readonly agents: { readonly total: number; readonly current: number; readonly refusing: number };
}

/** @throws ProtocolError DOCUMENT_INVALID if its flags can't be read */
export function rolloutState(object: RolledOutObject): RolloutState {
  const { metadata, spec, status } = object;
  const rollout = spec?.rollout ?? undefined;
  const digest = atOnce(digestingDocument(documentOfFeatureFlag(object).document));
  const stored = readFlagRolloutStatus(status?.rollout);
  const condition = status?.conditions?.find(({ type }) => type === "RolledOut");
  const isKnown = stored?.digest === digest;
  const waves = rollout === undefined ? [] : defaultedFlagRollout(rollout).waves;
  return {
    name: `${metadata.namespace ?? ""}/${metadata.name}`,
    digest,
    phase: rollout === undefined ? "AtOnce" : isKnown ? stored.phase : "Unknown",
    wave: isKnown ? stored.wave : 0,
    waves: [...waves.toSorted((a, b) => a - b), 100],
    reach: isKnown ? stored.reach : 0,
    isAborted: isGivenUp(metadata.annotations, digest),
    message: messageOf(rollout !== undefined, stored, isKnown, condition),
    agents: status?.agents ?? { total: 0, current: 0, refusing: 0 },
  };
}

function messageOf(
  hasRollout: boolean,
  stored: FlagRolloutStatus | undefined,
  isKnown: boolean,
  condition: Condition | undefined,
): string {
  if (!hasRollout) return "It has no spec.rollout: all agents get a new version at once.";
  if (isKnown) return condition?.message ?? "The operator says no more.";
  if (stored !== undefined)
    return "The operator has not seen the newest version, or can't read it: no agent has it yet. See the condition Accepted.";
  return condition?.reason === "TooLarge"
    ? condition.message
    : "Nobody has written in its status which version all agents have: all get a new version at once. The operator does, if it deploys the proxy (proxy, statusAgents and flagsValidation of its chart).";
}
