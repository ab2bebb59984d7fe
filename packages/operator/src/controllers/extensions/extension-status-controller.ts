import { isDeepStrictEqual } from "node:util";
import type { RestClient } from "@bunting/kube";
import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import { extensionType } from "../../api/extension.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { outdatedMs, StatusWriter } from "../status-writer.js";
import type { ClusterExtensions } from "./cluster-extensions.js";
import type { ExtensionHealth } from "./extension-health.js";
import { extensionStatus } from "./extension-status.js";

export interface ExtensionStatusOptions {
  readonly client: Pick<RestClient, "apply">;
  readonly extensions: Pick<ClusterExtensions, "asked" | "extension" | "whenSynced" | "listenToExtensions">;
  readonly health: Pick<ExtensionHealth, "of" | "listen">;
  readonly context: Context<ControllerMetrics>;
}

const fieldManager = "bunting-operator-extensions";
const rate = { burst: 20, perSecond: 5 };

/** Writes, in the status of Extensions, where they are in the order, and how they do. */
export class ExtensionStatusController implements Runnable {
  readonly name = "extension status controller";
  readonly #options: ExtensionStatusOptions;
  readonly #controller: Controller;
  readonly #writer: StatusWriter;

  constructor(options: ExtensionStatusOptions) {
    this.#options = options;
    this.#writer = new StatusWriter({ ...options, fieldManager, rate });
    this.#controller = new Controller({
      name: "extension-status",
      reconcile: (name, signal) => this.#reconcile(name, signal),
      context: options.context,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { extensions, health } = this.#options;
    const all = (): void => {
      for (const { metadata } of extensions.asked.order) this.#controller.add(metadata.name);
    };
    // Each may have moved the others.
    const stops = [extensions.listenToExtensions(all), health.listen((name) => this.#controller.add(name))];
    all();
    await this.#controller.run(signal).finally(() => {
      for (const stop of stops) stop();
    });
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const { extensions, health, context } = this.#options;
    const extension = extensions.extension(name);
    if (extension === undefined) return undefined;
    const status = extensionStatus(extension, extensions.asked, health.of(name), context.clock.now());
    if (isDeepStrictEqual(status, extension.status)) return undefined;
    const target = {
      type: extensionType,
      kind: "Extension",
      metadata: { name, uid: extension.metadata.uid },
    };
    const leftMs = this.#writer.pauseLeftMs(target);
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const outcome = await this.#writer.write(target, status as Readonly<Record<string, unknown>>, signal);
    return outcome === "outdated" ? { requeueAfterMs: outdatedMs } : undefined;
  }
}
