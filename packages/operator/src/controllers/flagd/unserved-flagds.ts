import { flagdType, openFeatureApiVersion } from "@bunting/featureflags/resources";
import type { ClusterWatches, Discovery, EventRecorder, RestClient } from "@bunting/kube";
import { isAborted, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { isSaidToBeUnserved, notServed } from "./flagd-conditions.js";
import { FlagdStatus, type StoredFlagd } from "./flagd-status.js";
import { readFlagd, watchFlagds, whenServed } from "./flagd-watches.js";

export interface UnservedFlagdsOptions {
  readonly client: Pick<RestClient, "apply" | "get">;
  readonly watches: ClusterWatches;
  readonly discovery: Pick<Discovery, "serves">;
  readonly events: Pick<EventRecorder, "record">;
  readonly context: Context<ControllerMetrics>;
}

/** Says in the status of each Flagd, and once by an event, that an operator without `--flagd` deploys none of them. */
export class UnservedFlagds implements Runnable {
  readonly name = "flagds that are not served";
  readonly #options: UnservedFlagdsOptions;
  readonly #controller: Controller;
  readonly #status: FlagdStatus;

  constructor(options: UnservedFlagdsOptions) {
    const { client, context } = options;
    this.#options = options;
    this.#status = new FlagdStatus(client, context);
    this.#controller = new Controller({
      name: "unserved-flagd",
      reconcile: (key, signal) => this.#reconcile(key, signal),
      context,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    // A cluster whose users want no Flagds may lack their type.
    if (!(await whenServed(flagdType, this.#options, signal)) || isAborted(signal)) return;
    const { watches } = this.#options;
    const flagds = watchFlagds({ watches, onChange: (key) => this.#controller.add(key) });
    await Promise.all([flagds.run(signal), this.#controller.run(signal)]);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const flagd = await readFlagd(this.#options.client, key, signal);
    if (flagd === undefined) return undefined;
    const wasSaid = isSaidToBeUnserved(flagd.status?.conditions ?? []);
    const requeueAfterMs = await this.#status.write(flagd, { kind: "unserved" }, signal);
    if (!wasSaid) this.#tell(flagd);
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }

  #tell({ metadata: { namespace, name, uid = "" } }: StoredFlagd): void {
    this.#options.events.record({
      regarding: { apiVersion: openFeatureApiVersion, kind: "Flagd", namespace, name, uid },
      type: "Warning",
      reason: notServed.reason,
      action: "Apply",
      note: notServed.message,
    });
  }
}
