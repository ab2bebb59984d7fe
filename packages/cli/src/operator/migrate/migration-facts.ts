import type { KubeObject } from "@bunting/kube";

/** What a migration may meet, as the cluster has it. */
export interface MigrationFacts {
  /** Deployments of the open-feature-operator; one, unless somebody has installed it twice. */
  readonly operators: readonly KubeObject[];
  /** The Deployments called flagd-proxy. */
  readonly proxies: readonly KubeObject[];
  readonly flags: readonly KubeObject[];
  readonly sources: readonly KubeObject[];
  readonly inProcess: readonly KubeObject[];
  readonly flagds: readonly KubeObject[];
  /** Metadata of all Pods. */
  readonly pods: readonly KubeObject[];
  /** Metadata of the Pods that use the network of their node. */
  readonly nodePods: readonly KubeObject[];
}
