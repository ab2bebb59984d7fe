import type { Context, Runnable } from "@bunting/runtime";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";

export interface ExtensionRetriesOptions {
  /** Has the objects of a namespace made anew. */
  readonly lookAgain: (namespace: string) => void;
  readonly context: Context<ControllerMetrics>;
}

/** Until a namespace is looked at again of which an extension has failed: the first time, and at most, in ms. */
const [firstMs, longestMs] = [10_000, 300_000];

/** Namespaces whose objects were made without an extension, or not made, because it failed. They are looked at again later and later, and at once when one recovers. */
export class ExtensionRetries implements Runnable {
  readonly name = "extension retries";
  /** By namespace, how long was waited last. */
  readonly #waits = new Map<string, number>();
  readonly #controller: Controller;

  constructor({ lookAgain, context }: ExtensionRetriesOptions) {
    this.#controller = new Controller({
      name: "extension-retry",
      reconcile: (namespace) => {
        if (this.#waits.has(namespace)) lookAgain(namespace);
        return Promise.resolve(undefined);
      },
      context,
    });
  }

  failed(namespace: string): void {
    const waitMs = Math.min(longestMs, 2 * (this.#waits.get(namespace) ?? firstMs / 2));
    this.#waits.set(namespace, waitMs);
    this.#controller.after(namespace, waitMs);
  }

  succeeded(namespace: string): void {
    this.#waits.delete(namespace);
  }

  /** An extension that had failed has answered. */
  recovered(): void {
    for (const namespace of this.#waits.keys()) this.#controller.add(namespace);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal);
  }
}
