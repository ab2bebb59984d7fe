import type { ConnectedCluster, ClusterWatches } from "@bunting/kube";
import type { Context } from "@bunting/runtime";
import type { OperatorMetrics } from "../operator-metrics.js";
import type { OperatorOptions } from "../options.js";
import type * as operatorParts from "./operator-parts.js";

export type OperatorParts = typeof operatorParts;

/** The parts that every chapter of the wiring needs. */
export interface OperatorWiring {
  readonly options: OperatorOptions;
  readonly parts: OperatorParts;
  readonly context: Context<OperatorMetrics>;
  readonly cluster: ConnectedCluster;
  readonly watches: ClusterWatches;
  /** The namespaces that are served; undefined: all. */
  readonly served: readonly string[] | undefined;
  /** Of this process: the Pod's name. */
  readonly instance: string;
}
