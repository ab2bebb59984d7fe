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

interface Wait {
  readonly ms: number;
  /** True if it was looked at again since, and nothing was heard of it yet. */
  readonly isOver: boolean;
}

/** Namespaces whose objects were made without an extension, or not made, because it failed. They are looked at again later and later, and at once when one recovers. */
export class ExtensionRetries implements Runnable {
  readonly name = "extension retries";
  /** By namespace and by what is made there, the last wait: what one object got says nothing of the others. */
  readonly #waits = new Map<string, Map<string, Wait>>();
  readonly #controller: Controller;

  constructor({ lookAgain, context }: ExtensionRetriesOptions) {
    this.#controller = new Controller({
      name: "extension-retry",
      reconcile: (namespace) => {
        if (this.#end(namespace)) lookAgain(namespace);
        return Promise.resolve(undefined);
      },
      context,
    });
  }

  /** @param made what was asked about, such as the entries of the Injection */
  failed(namespace: string, made: string): void {
    const waits = this.#waits.get(namespace) ?? new Map<string, Wait>();
    const waitMs = Math.min(longestMs, 2 * (waits.get(made)?.ms ?? firstMs / 2));
    this.#waits.set(namespace, waits.set(made, { ms: waitMs, isOver: false }));
    this.#controller.after(namespace, waitMs);
  }

  succeeded(namespace: string, made: string): void {
    const waits = this.#waits.get(namespace);
    waits?.delete(made);
    if (waits?.size === 0) this.#waits.delete(namespace);
  }

  /** To be called when a namespace is gone. */
  forget(namespace: string): void {
    this.#waits.delete(namespace);
  }

  /** An extension that had failed has answered. */
  recovered(): void {
    for (const namespace of this.#waits.keys()) this.#controller.add(namespace);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal);
  }

  /** Ends the waits of a namespace. @returns false if there are none */
  #end(namespace: string): boolean {
    const waits = this.#waits.get(namespace);
    if (waits === undefined) return false;
    for (const [made, { ms, isOver }] of waits)
      // Nobody tells of objects that are gone, and whoever owns a namespace may make ever new ones.
      if (isOver) waits.delete(made);
      else waits.set(made, { ms, isOver: true });
    if (waits.size === 0) this.#waits.delete(namespace);
    return true;
  }
}
