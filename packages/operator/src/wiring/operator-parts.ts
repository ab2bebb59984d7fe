import {
  ClusterWatches,
  connectCluster,
  EventRecorder,
  LeaderElection,
  type ConnectedCluster,
} from "@bunting/kube";
import { managementHandler, runComponents, type Context } from "@bunting/runtime";
import { PeerMemory, PortListener } from "@bunting/server";
import { servingCertificates } from "../certificates/serving-certificates.js";
import { OtherOperator } from "../controllers/other-operator.js";
import type { OperatorMetrics } from "../operator-metrics.js";
import type { OperatorOptions } from "../options.js";

/** What an operator is made of. The wiring takes its parts from here, so that its test can see what each of them is given. */
export const operatorParts = {
  connectCluster,
  ClusterWatches,
  EventRecorder,
  LeaderElection,
  OtherOperator,
  servingCertificates,
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
  readonly context: Context<OperatorMetrics>;
  readonly cluster: ConnectedCluster;
  readonly watches: ClusterWatches;
  /** Of this process: the Pod's name. */
  readonly instance: string;
}
