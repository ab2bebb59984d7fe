import {
  ClusterWatches,
  connectCluster,
  EventRecorder,
  LeaderElection,
  type ConnectedCluster,
} from "@bunting/kube";
import { managementHandler, runComponents, type Context } from "@bunting/runtime";
import { PeerMemory, PortListener } from "@bunting/server";
import { OtherOperator } from "../controllers/other-operator.js";
import type { OperatorOptions } from "../options.js";
import type { ProcessOfOperatorMetrics } from "../process-of-operator-metrics.js";

/** What an operator is made of. The wiring takes its parts from here, so that its test can see what each of them is given. */
export const operatorParts = {
  connectCluster,
  ClusterWatches,
  EventRecorder,
  LeaderElection,
  OtherOperator,
  PeerMemory,
  PortListener,
  managementHandler,
  runComponents,
};

export type OperatorParts = typeof operatorParts;

/** The parts that every chapter of the wiring needs. */
export interface OperatorWiring {
  readonly options: OperatorOptions;
  readonly parts: OperatorParts;
  readonly context: Context<ProcessOfOperatorMetrics>;
  readonly cluster: ConnectedCluster;
  /** Of this process: the Pod's name. */
  readonly instance: string;
}
