import type { Condition, LabelSelector } from "@bunting/kube";

/** Gives running sidecars another image, in place. It is an object of the cluster. */
export interface AgentRollout {
  readonly apiVersion: typeof agentRolloutApiVersion;
  readonly kind: "AgentRollout";
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly generation?: number;
    readonly [field: string]: unknown;
  };
  readonly spec: AgentRolloutSpec;
  readonly status?: AgentRolloutStatus;
}

export const agentRolloutApiVersion = "bunting.dev/v1alpha1";

export const agentRolloutType = {
  group: "bunting.dev",
  version: "v1alpha1",
  plural: "agentrollouts",
  isClusterScoped: true,
} as const;

/** As stored: the API server has filled in the defaults. */
export interface AgentRolloutSpec {
  readonly image: string;
  readonly from: readonly string[];
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector?: LabelSelector;
  readonly maxUnavailable: number | string;
  readonly maxInFlight: number;
  readonly perNode: number;
  readonly minAge: string;
  readonly observe: string;
  readonly deadline: string;
  readonly failureThreshold: number;
  readonly rollbackOnHalt: boolean;
  readonly paused: boolean;
  /** Absent in a resource type of before. */
  readonly prePull?: boolean;
}

export const rolloutPhases = ["Progressing", "Completed", "Paused", "Halted", "Refused"] as const;
export type RolloutPhase = (typeof rolloutPhases)[number];

export interface AgentRolloutStatus {
  readonly observedGeneration?: number;
  readonly image?: string;
  readonly since?: string;
  readonly phase?: RolloutPhase;
  readonly desired?: number;
  readonly updated?: number;
  readonly ready?: number;
  readonly inFlight?: number;
  readonly failed?: number;
  readonly haltedReason?: string;
  readonly failures?: readonly StoredFailure[];
  readonly conditions?: readonly Condition[];
}

/** A sidecar that did not become ready with its new image. */
export interface StoredFailure {
  /** `namespace/name` */
  readonly pod: string;
  readonly uid: string;
  readonly time: string;
  readonly message: string;
}
