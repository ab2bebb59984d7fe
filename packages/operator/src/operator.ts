/**
 * The only file that sees the whole operator. It is the way of a FeatureFlagSource: watches → controllers, which compile it and deploy what it
 * asks for, on the replica that leads → admission, which looks up what was compiled, on every replica. Each step is a chapter of wiring/.
 * Nothing is started here; `components` is the order of the start.
 */
import { hostname } from "node:os";
import {
  buildInfo,
  createRegistry,
  processMetrics,
  runnableComponent,
  systemClock,
  type Clock,
  type Component,
  type Logger,
} from "@bunting/runtime";
import { OperatorReadiness } from "./operator-readiness.js";
import type { OperatorOptions } from "./options.js";
import { processOfOperatorMetrics } from "./process-of-operator-metrics.js";
import { version } from "./version.js";
import { leadership } from "./wiring/leadership.js";
import { managementPorts } from "./wiring/management-ports.js";
import { operatorParts, type OperatorWiring } from "./wiring/operator-parts.js";

export interface OperatorProgram {
  /** Runs until the signal aborts. Rejects with the error that prevented the start or ended it. */
  run(signal: AbortSignal): Promise<void>;
}

/** More than each component needs: those that lead end their work within 5 s. */
const stopTimeoutMs = 10_000;

/**
 * @param parts replaced by the test of the wiring
 * @throws KubeError CONFIG_INVALID if the options and the environment name no cluster.
 */
export async function createOperator(
  options: OperatorOptions,
  logger: Logger,
  clock: Clock = systemClock,
  parts = operatorParts,
): Promise<OperatorProgram> {
  const registry = createRegistry(false);
  processMetrics(registry);
  buildInfo(registry, "bunting_operator_build_info", version);
  const context = { clock, logger, metrics: processOfOperatorMetrics.create(registry) };
  const program = `bunting-operator/${version}`;
  const cluster = await parts.connectCluster(options, { program, clock, env: process.env });
  const instance = options.podName === "" ? hostname() : options.podName;
  const wiring: OperatorWiring = { options, parts, context, cluster, instance };

  const events = new parts.EventRecorder({
    client: cluster.client,
    controller: "bunting.dev/operator",
    instance,
    context,
    onDropped: () => context.metrics.eventDropped(),
  });
  const readiness = new OperatorReadiness([]);
  const components: Component[] = [
    ...managementPorts(wiring, { readiness, registry }),
    runnableComponent(cluster.connections, "outlive all that ask the API server"),
    runnableComponent(events, "are written until nothing can happen any more"),
    runnableComponent(
      leadership(wiring, { events, ownUid: () => Promise.resolve(undefined), work: () => [] }),
      "is the last to start, because everything has to be there for the leader, and the first to stop, so that another replica leads at once",
    ),
  ];
  return { run: (signal) => parts.runComponents(components, signal, { stopTimeoutMs }) };
}
