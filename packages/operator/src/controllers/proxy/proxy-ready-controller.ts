import { featureFlagSourceType, type FeatureFlagSource } from "@bunting/featureflags/resources";
import { setCondition, type Condition, type RestClient } from "@bunting/kube";
import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import type { SourcePlan } from "../../sources/source-plan.js";
import { Controller } from "../controller.js";
import { SweepSize } from "../sweep-size.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { StatusWriter } from "../status-writer.js";
import { proxyReadyCondition, type ProxyState } from "./proxy-state.js";

/** A FeatureFlagSource with the conditions that were last said of it. */
export type SourceWithStatus = Pick<FeatureFlagSource, "metadata"> & {
  readonly status?: { readonly conditions?: readonly Condition[] };
};

export interface ProxyReadyOptions {
  readonly client: Pick<RestClient, "apply">;
  /** By `namespace/name`; undefined if it was deleted. */
  readonly source: (key: string) => SourceWithStatus | undefined;
  readonly context: Context<ControllerMetrics>;
}

/** Of its own: the other conditions of a source are applied by another controller, and each takes away only what is its own. */
const fieldManager = "bunting-operator-proxy";
/** Writes in all: when the state of the proxy changes, it does for all sources at once. */
const rate = { burst: 20, perSecond: 5 };

/** Says in the status of FeatureFlagSources that use the proxy whether that is ready. */
export class ProxyReadyController implements Runnable {
  readonly name = "proxy ready controller";
  readonly #options: ProxyReadyOptions;
  readonly #controller: Controller;
  readonly #writer: StatusWriter;
  /** Sources that use the proxy. */
  readonly #users = new Set<string>();
  readonly #sweepSize = new SweepSize();
  /** Undefined until it is known: a replica that begins to lead says nothing that it would take back. */
  #state: ProxyState | undefined;

  constructor(options: ProxyReadyOptions) {
    const { context } = options;
    this.#options = options;
    this.#writer = new StatusWriter({ ...options, fieldManager, rate });
    this.#controller = new Controller({
      name: "proxy-ready",
      reconcile: (key, signal) => this.#reconcile(key, signal),
      context,
    });
  }

  /** The state of the proxy has changed. */
  entered(state: ProxyState): void {
    this.#state = state;
    for (const key of this.#users) this.#controller.add(key);
  }

  /**
   * The source was compiled for the Pods of its namespace.
   *
   * @param plan undefined if Pods get nothing of it
   */
  compiled(key: string, plan: SourcePlan | undefined): void {
    const isUser = plan?.sources.some(({ way }) => way === "proxy") === true;
    const isAsBefore = this.#users.has(key) === isUser;
    if (isUser) this.#users.add(key);
    else this.#users.delete(key);
    if (this.#sweepSize.isOver(this.#users.size)) this.#sweep();
    // An edit of one source compiles thousands of others again, of which nothing is new. What a write under way says is still so.
    if (isAsBefore && this.#due(key) === undefined) return;
    this.#controller.add(key);
  }

  /** Nobody tells of sources that are gone. */
  #sweep(): void {
    for (const key of this.#users) if (this.#options.source(key) === undefined) this.#users.delete(key);
    this.#sweepSize.swept(this.#users.size);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const due = this.#due(key);
    if (due === undefined) return undefined;
    const { namespace, name, uid } = due.metadata;
    const metadata = { namespace, name, uid };
    const target = { type: featureFlagSourceType, kind: "FeatureFlagSource", metadata };
    const ours = due.conditions.filter(({ type }) => type === "ProxyReady");
    return this.#writer.writeWhenDue(target, { conditions: ours }, signal);
  }

  /** Undefined if the source says what is so, or is gone. */
  #due(
    key: string,
  ):
    | { readonly metadata: SourceWithStatus["metadata"]; readonly conditions: readonly Condition[] }
    | undefined {
    const object = this.#options.source(key);
    if (object === undefined) {
      this.#users.delete(key);
      return undefined;
    }
    const before = object.status?.conditions ?? [];
    const conditions = this.#conditions(key, object, before);
    return conditions === before ? undefined : { metadata: object.metadata, conditions };
  }

  /** The same array if nothing has changed. */
  #conditions(
    key: string,
    { metadata }: SourceWithStatus,
    before: readonly Condition[],
  ): readonly Condition[] {
    const isSaid = before.some(({ type }) => type === "ProxyReady");
    if (!this.#users.has(key)) return isSaid ? before.filter(({ type }) => type !== "ProxyReady") : before;
    if (this.#state === undefined) return before;
    const { generation: observedGeneration } = metadata;
    const observed = observedGeneration === undefined ? {} : { observedGeneration };
    const condition = { ...proxyReadyCondition(this.#state), ...observed };
    return setCondition(before, condition, this.#options.context.clock.now());
  }
}
