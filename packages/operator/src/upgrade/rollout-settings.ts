import type { LabelSelector } from "@bunting/kube";
import { parseDuration, quoted } from "@bunting/runtime";
import type { AgentRolloutSpec } from "../api/agent-rollout.js";
import { isImageReference } from "../desired/image-reference.js";

/** What an AgentRollout asks for, as it is computed with. */
export interface RolloutSettings {
  readonly image: string;
  /** Why the rollout does nothing at all; undefined if it is well-formed. */
  readonly refused?: string;
  readonly from: readonly string[];
  readonly namespaceSelector: LabelSelector;
  readonly podSelector: LabelSelector;
  /** Of the Pods of a workload. */
  readonly maxUnavailable: { readonly pods: number } | { readonly percent: number };
  readonly maxInFlight: number;
  readonly perNode: number;
  readonly minAgeMs: number;
  readonly observeMs: number;
  readonly deadlineMs: number;
  readonly failureThreshold: number;
  readonly rollsBack: boolean;
  readonly isPaused: boolean;
  /** Whether a node has to have the image before a sidecar there gets it. */
  readonly prePulls: boolean;
}

/** The settings of a stored spec. The resource type has checked it; an older one may not have. */
export function rolloutSettings(spec: AgentRolloutSpec): RolloutSettings {
  const { maxUnavailable } = spec;
  const refused = isImageReference(spec.image)
    ? undefined
    : `spec.image is no image with a tag or a digest, such as registry.example/agent:1.2: it is ${quoted(spec.image)}`;
  return {
    image: spec.image,
    ...(refused === undefined ? {} : { refused }),
    from: spec.from,
    namespaceSelector: spec.namespaceSelector ?? {},
    podSelector: spec.podSelector ?? {},
    maxUnavailable:
      typeof maxUnavailable === "number"
        ? { pods: maxUnavailable }
        : { percent: Number.parseInt(maxUnavailable, 10) },
    maxInFlight: spec.maxInFlight,
    perNode: spec.perNode,
    minAgeMs: parseDuration(spec.minAge),
    observeMs: parseDuration(spec.observe),
    deadlineMs: parseDuration(spec.deadline),
    failureThreshold: spec.failureThreshold,
    rollsBack: spec.rollbackOnHalt,
    isPaused: spec.paused,
    prePulls: spec.prePull === true,
  };
}

/** How many Pods of a workload of this size may be under way; one always may, or a small workload would never be done. */
export function workloadLimit({ maxUnavailable }: RolloutSettings, size: number): number {
  const limit =
    "pods" in maxUnavailable ? maxUnavailable.pods : Math.floor((size * maxUnavailable.percent) / 100);
  return Math.max(1, limit);
}
