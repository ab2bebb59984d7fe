import { isDeepStrictEqual } from "node:util";
import type { RestClient } from "@bunting/kube";
import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import { extensionType } from "../../api/extension.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { StatusWriter } from "../status-writer.js";
import type { ClusterExtensions } from "./cluster-extensions.js";
import { placeStatus } from "./extension-status.js";

export interface ExtensionPlaceOptions {
  readonly client: Pick<RestClient, "apply">;
  readonly extensions: Pick<ClusterExtensions, "asked" | "extension" | "listenToExtensions">;
  readonly context: Context<ControllerMetrics>;
}

/** Of its own, beside that of how they do: each takes back what it does not apply. */
const fieldManager = "bunting-operator-extensions";
const rate = { burst: 20, perSecond: 5 };

/** Writes, in the status of Extensions, where they are in the order. */
export class ExtensionPlaceController implements Runnable {
  readonly name = "extension place controller";
  readonly #options: ExtensionPlaceOptions;
  readonly #controller: Controller;
  readonly #writer: StatusWriter;

  constructor(options: ExtensionPlaceOptions) {
    this.#options = options;
    this.#writer = new StatusWriter({ ...options, fieldManager, rate });
    this.#controller = new Controller({
      name: "extension-place",
      reconcile: (name, signal) => this.#reconcile(name, signal),
      context: options.context,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { extensions } = this.#options;
    const all = (): void => {
      for (const { metadata } of extensions.asked.order) this.#controller.add(metadata.name);
    };
    // Each may have moved the others.
    const stop = extensions.listenToExtensions(all);
    all();
    await this.#controller.run(signal).finally(stop);
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const { extensions, context } = this.#options;
    const extension = extensions.extension(name);
    if (extension === undefined) return undefined;
    const { conditions: before = [], ...stored } = extension.status ?? {};
    const status = placeStatus(extension, extensions.asked, context.clock.now());
    const ours = before.filter(({ type }) => type === "Ordered");
    const { order, cycle, observedGeneration } = stored;
    if (isDeepStrictEqual(withoutAbsent({ order, cycle, observedGeneration, conditions: ours }), status))
      return undefined;
    const metadata = { name, uid: extension.metadata.uid };
    const target = { type: extensionType, kind: "Extension", metadata };
    return this.#writer.writeWhenDue(target, { ...status }, signal);
  }
}

function withoutAbsent(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
