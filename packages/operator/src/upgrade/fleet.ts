import type { LabelSelector } from "@bunting/kube";
import type { AgentRecord } from "./agent-record.js";
import type { RolloutSettings } from "./rollout-settings.js";

export type Labels = Readonly<Record<string, string>>;

/** Of a Pod, what decides about upgrades. */
export interface FleetPod {
  /** `namespace/name` */
  readonly key: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels: Labels;
  /** The same for all Pods of a workload; of its own for a Pod that nothing replaces. */
  readonly workload: string;
  readonly node: string;
  /** From which its sidecar subscribes; empty without a sidecar. */
  readonly addresses: readonly string[];
  readonly createdMs: number;
  readonly phase: string;
  readonly isEnding: boolean;
  readonly isReady: boolean;
  /** True for a while after an API server did not change it as it was asked to. */
  readonly isHeld?: boolean;
  /** Why an API server refuses to change it, in a sentence; undefined if it does not. */
  readonly refusal?: string;
  /** The sidecar; undefined if there is none that is a rollout's business. */
  readonly agent?: FleetAgent;
}

/** A sidecar, as the Pod's spec and status have it. */
export interface FleetAgent {
  readonly list: "containers" | "initContainers";
  readonly index: number;
  /** As in the spec. */
  readonly image: string;
  /** Of the container that was started last. */
  readonly imageID: string;
  readonly isStarted: boolean;
  readonly isReady: boolean;
  readonly restarts: number;
  /** Why it does not run, in a word of the kubelet. */
  readonly trouble?: string;
  /**
   * Whether it has what the proxies serve, as they say; `unknown` while they do not say it. Undefined where it does not count, or no proxy can say it.
   */
  readonly served?: "current" | "behind" | "unknown";
  readonly record?: AgentRecord;
  /** The image before the last rollout. */
  readonly previous?: string;
}

/** A PodDisruptionBudget. */
export interface FleetBudget {
  readonly namespace: string;
  readonly name: string;
  /** Absent: it selects nothing. */
  readonly selector?: LabelSelector;
  /** Disruptions that it allows; 0 while its status is not about its present spec. */
  readonly allowed: number;
}

/** A Pod of ours, by which a node pulls an image. */
export interface FleetPull {
  readonly name: string;
  /** The uid of the AgentRollout. */
  readonly rollout: string;
  readonly node: string;
  readonly image: string;
  readonly createdMs: number;
  /** `failed`: it has ended without the image, or could not be made. */
  readonly state: "pulling" | "pulled" | "failed";
  /** Why the image is not there, in words of the kubelet. */
  readonly trouble?: string;
}

/** A failure that counts. */
export interface Failure {
  readonly pod: string;
  readonly uid: string;
  readonly atMs: number;
  readonly message: string;
}

/** What a rollout has written of itself. */
export interface RolloutProgress {
  /** The image that this is about; another one begins anew. */
  readonly image: string;
  /** When it began. Records of another beginning, and failures from before, do not count. */
  readonly sinceMs: number;
  /** Set once it has halted, and why. */
  readonly halted?: string;
  readonly failures: readonly Failure[];
}

export interface FleetRollout {
  readonly name: string;
  readonly uid: string;
  readonly createdMs: number;
  readonly settings: RolloutSettings;
  /** Undefined before anything was written. */
  readonly progress?: RolloutProgress;
}

/** All that decisions are made of. */
export interface Fleet {
  readonly rollouts: readonly FleetRollout[];
  readonly pods: readonly FleetPod[];
  readonly budgets: readonly FleetBudget[];
  readonly pulls?: readonly FleetPull[];
  /** True while it is not known which sidecars have what the proxies serve, though these can say it. */
  readonly areProxiesUnknown?: boolean;
  /** Labels of namespaces. Pods of others are left alone. */
  readonly namespaces: ReadonlyMap<string, Labels>;
}
