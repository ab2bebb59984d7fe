import {
  ClusterWatches,
  connectCluster,
  EventRecorder,
  type ConnectedCluster,
  type KubeObject,
  type ResourceType,
} from "@bunting/kube";
import { Applier, type DriftPolicy } from "@bunting/operator/internal/controllers/apply/applier.js";
import { operatorMetrics } from "@bunting/operator/internal/operator-metrics.js";
import { createLogger, systemClock, type Runnable } from "@bunting/runtime";
import { eventually, lookMs, patienceMs } from "../../support/event-queue.js";
import type { Cluster } from "./cluster.js";

const silent = createLogger({ format: "json", debug: false }, { write: () => undefined });

/** What the operator's controllers need, connected to a real API server, and a namespace of the operator's. */
export class OperatorWorld {
  readonly namespace: string;
  readonly cluster: Cluster;
  readonly connected: ConnectedCluster;
  readonly logger = silent;
  readonly metrics = operatorMetrics();
  readonly watches: ClusterWatches;
  readonly events: EventRecorder;
  readonly #abort = new AbortController();
  readonly #running: Promise<unknown>[] = [];

  static async start(cluster: Cluster): Promise<OperatorWorld> {
    const namespace = await cluster.createNamespace();
    const choice = { kubeconfig: cluster.kubeconfig, kubeContext: "", serviceAccountDirectory: "" };
    const program = "bunting-test/0.0.0";
    const connected = await connectCluster(choice, { program, clock: systemClock, env: {} });
    return new OperatorWorld(cluster, namespace, connected);
  }

  private constructor(cluster: Cluster, namespace: string, connected: ConnectedCluster) {
    const context = { clock: systemClock, logger: silent };
    this.cluster = cluster;
    this.namespace = namespace;
    this.connected = connected;
    const metrics = { relist: () => undefined, event: () => undefined, error: () => undefined };
    this.watches = new ClusterWatches({ client: connected.client, context: { ...context, metrics } });
    this.events = new EventRecorder({
      client: connected.client,
      controller: "bunting.dev/operator",
      instance: "operator-1",
      context,
    });
    this.run(connected.connections);
    this.run(this.events);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Runs it until the world stops. */
  run(runnable: Pick<Runnable, "run">): void {
    this.#running.push(runnable.run(this.#abort.signal));
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await Promise.all(this.#running);
  }

  applier(drift: DriftPolicy = "repair"): Applier {
    return new Applier({ client: this.connected.client, drift, metrics: this.metrics });
  }

  /** Undefined if there is none. */
  async find(type: ResourceType, name: string): Promise<KubeObject | undefined> {
    const scope = { type, namespace: this.namespace, name };
    return this.connected.client.get(scope, this.signal).catch(() => undefined);
  }

  /**
   * Waits until the object is as it should be, and resolves with it.
   *
   * @param nudge called before each look
   */
  async until(
    type: ResourceType,
    name: string,
    isSo: (object: KubeObject) => boolean,
    what: string,
    nudge?: () => void,
  ): Promise<KubeObject> {
    const found: KubeObject[] = [];
    const look = async (): Promise<boolean> => {
      nudge?.();
      const object = await this.find(type, name);
      if (object === undefined || !isSo(object)) return false;
      found.push(object);
      return true;
    };
    await eventually(look, what, patienceMs, nudge === undefined ? undefined : lookMs);
    const [object] = found;
    if (object === undefined) throw new Error(`${what}: there is no object`);
    return object;
  }

  /** Waits until there is no such object. */
  async untilGone(type: ResourceType, name: string): Promise<void> {
    const isGone = async (): Promise<boolean> => (await this.find(type, name)) === undefined;
    await eventually(isGone, `${type.plural} ${name} is gone`);
  }

  /** As `kubectl edit` does. */
  edit(type: ResourceType, name: string, patch: object, manager = "kubectl-edit"): Promise<KubeObject> {
    const scope = { type, namespace: this.namespace, name };
    const query = { fieldManager: manager };
    return this.connected.client.patch(scope, "strategic", patch, this.signal, { query });
  }

  /** Reasons of the events so far. */
  async reasons(): Promise<readonly string[]> {
    const path = `/apis/events.k8s.io/v1/namespaces/${this.namespace}/events`;
    const { items } = await this.cluster.api.list(path);
    return items.map((event) => String(event["reason"]));
  }
}
