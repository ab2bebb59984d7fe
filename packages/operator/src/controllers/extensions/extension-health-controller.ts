import type { RestClient } from "@bunting/kube";
import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import { extensionType } from "../../api/extension.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { StatusWriter } from "../status-writer.js";
import type { ClusterExtensions } from "./cluster-extensions.js";
import type { ExtensionHealth } from "./extension-health.js";
import { healthStatus, storedFailure } from "./extension-status.js";

export interface ExtensionHealthControllerOptions {
  readonly client: Pick<RestClient, "apply">;
  readonly extensions: Pick<ClusterExtensions, "extension">;
  readonly health: Pick<ExtensionHealth, "of" | "listen" | "isLeading">;
  readonly context: Context<ControllerMetrics>;
}

const fieldManager = "bunting-operator-extension-health";
const rate = { burst: 20, perSecond: 5 };

/**
 * Writes, in the status of Extensions, how they do, on each replica: any of them may have a FeatureFlag admitted, and asks about it. It is written for a change of
 * what this process finds; that one fails no more, by the leader alone.
 */
export class ExtensionHealthController implements Runnable {
  readonly name = "extension health controller";
  readonly #options: ExtensionHealthControllerOptions;
  readonly #controller: Controller;
  readonly #writer: StatusWriter;

  constructor(options: ExtensionHealthControllerOptions) {
    this.#options = options;
    this.#writer = new StatusWriter({ ...options, fieldManager, rate });
    this.#controller = new Controller({
      name: "extension-health",
      reconcile: (name, signal) => this.#reconcile(name, signal),
      context: options.context,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const stop = this.#options.health.listen((name) => this.#controller.add(name));
    return this.#controller.run(signal).finally(stop);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const { extensions, health, context } = this.#options;
    const extension = extensions.extension(name);
    if (extension === undefined) return undefined;
    const state = health.of(name);
    if (state.kind !== "failing" && storedFailure(extension) !== undefined && !health.isLeading)
      return undefined;
    const status = healthStatus(extension, state, context.clock.now());
    if (status === undefined) return undefined;
    const metadata = { name, uid: extension.metadata.uid };
    const target = { type: extensionType, kind: "Extension", metadata };
    return this.#writer.writeWhenDue(target, { ...status }, signal);
  }
}
