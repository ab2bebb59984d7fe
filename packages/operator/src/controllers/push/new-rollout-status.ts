import {
  encodeWhole,
  type FlagRollout,
  type FlagRolloutStatus,
  type WholeVersion,
} from "@bunting/featureflags/resources";
import { setCondition, type Condition, type KubeObject } from "@bunting/kube";
import type { FlagDocument } from "@bunting/protocol";
import type { PushSettings, PushVerdict } from "../../push/push-plan.js";
import { pushSentence } from "../../push/push-sentence.js";
import type { PushEvidence } from "../../push/told-push.js";
import { rolledOutCondition } from "../feature-flag-watch.js";

/** A FeatureFlag, as far as its rollout goes. */
export interface RolledOutFeatureFlag extends KubeObject {
  readonly spec?: { readonly rollout?: FlagRollout | null; readonly [field: string]: unknown };
  readonly status?: { readonly rollout?: unknown; readonly conditions?: readonly Condition[] };
}

/** A FeatureFlag with spec.rollout, as one reconcile finds it. */
export interface FoundRollout {
  readonly object: RolledOutFeatureFlag;
  /** The newest version. */
  readonly document: FlagDocument;
  readonly digest: string;
  readonly settings: PushSettings;
  /** What the status says; undefined before anything was written. */
  readonly stored: FlagRolloutStatus | undefined;
  /** What the proxies say of the agents that have the newest version; undefined if nobody has to be asked, or not all answer. */
  readonly evidence: PushEvidence | undefined;
}

/** Status that is about to be applied. Without `rollout`, the newest version is served to all at once. */
export interface NewRolloutStatus {
  readonly fields: { readonly rollout?: FlagRolloutStatus; readonly conditions: readonly Condition[] };
  /** More than another sentence. */
  readonly isNews: boolean;
}

/**
 * The status after a verdict.
 *
 * @param hasGrown the numbers of agents alone are worth a write
 * @returns undefined if it is written already, but for numbers of agents
 */
export function newRolloutStatus(
  found: FoundRollout,
  verdict: PushVerdict,
  hasGrown: boolean,
  nowMs: number,
): NewRolloutStatus | undefined {
  const { object, document, settings, stored, evidence } = found;
  const { record, takesWhole } = verdict;
  const said = saidOf(object.status?.conditions);
  const whole = takesWhole || stored === undefined ? wholeOf(object, record.digest, document) : stored.whole;
  const isWhole = record.phase === "Whole" && whole !== undefined;
  const condition = {
    type: rolledOutCondition,
    status: isWhole ? ("True" as const) : ("False" as const),
    reason: whole === undefined ? "TooLarge" : record.phase,
    message:
      whole === undefined
        ? tooLarge
        : (whatHalted(said, verdict) ?? pushSentence(verdict, evidence, settings.waves.length + 1)),
    observedGeneration: generationOf(object),
  };
  const before = said === undefined ? [] : [said];
  const conditions = setCondition(before, condition, nowMs);
  const isNews =
    whole === undefined
      ? stored !== undefined || said?.reason !== condition.reason
      : stored === undefined || !isSame(stored, record) || takesWhole;
  if (!isNews && conditions[0] === said && !hasGrown) return undefined;
  const rollout = whole === undefined ? {} : { rollout: { ...record, whole } };
  return { fields: { ...rollout, conditions }, isNews };
}

/** The condition that was written last. */
export function saidOf(conditions: readonly Condition[] | undefined): Condition | undefined {
  return conditions?.find(({ type }) => type === rolledOutCondition);
}

/** What has halted a rollout is said as it was then: it need not be so any more. */
function whatHalted(said: Condition | undefined, { record, why }: PushVerdict): string | undefined {
  return why === "halted" && said?.reason === record.phase ? said.message : undefined;
}

/** Undefined if it is too large to be kept there. */
function wholeOf(object: KubeObject, digest: string, document: FlagDocument): WholeVersion | undefined {
  const encoded = encodeWhole(document);
  return encoded === undefined ? undefined : { digest, generation: generationOf(object), document: encoded };
}

const tooLarge =
  "The flags are for all agents at once: they are too large to be kept in the status beside the next version.";

function generationOf({ metadata: { generation = 0 } }: KubeObject): number {
  return generation;
}

/** But for numbers of agents, which change with each Pod. */
function isSame(stored: FlagRolloutStatus, record: PushVerdict["record"]): boolean {
  return (["digest", "phase", "wave", "reach", "forgiven", "resumed"] as const).every(
    (field) => stored[field] === record[field],
  );
}
