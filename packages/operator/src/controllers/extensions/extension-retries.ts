import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";

export interface ExtensionRetriesOptions {
  /** Has the objects of a namespace made anew. */
  readonly lookAgain: (namespace: string) => void;
  /** Hears of each extension for which nothing waits any more. */
  readonly onSettled: (extension: string) => void;
  readonly context: Context<ControllerMetrics>;
}

/** Until a namespace is looked at again of which an extension has failed: the first time, and at most, in ms. */
const [firstMs, longestMs] = [10_000, 300_000];
/** An object of which nothing is heard for that long after it was looked at again is gone, in ms: extensions may be asked for a minute about one namespace. */
const silentMs = 120_000;

interface Wait {
  readonly ms: number;
  /** The names of those that have failed. */
  readonly extensions: ReadonlySet<string>;
  /** When it is looked at again, or, if it was and nothing was heard of it since, forgotten. */
  readonly dueMs: number;
  readonly isOver: boolean;
}

/** Namespaces whose objects were made without an extension, or not made, because it failed. They are looked at again later and later, and at once when one recovers. */
export class ExtensionRetries implements Runnable {
  readonly name = "extension retries";
  readonly #options: ExtensionRetriesOptions;
  /** By namespace and by what is made there, the last wait: what one object got says nothing of the others. */
  readonly #waits = new Map<string, Map<string, Wait>>();
  /** By extension, how many wait for it. */
  readonly #waiting = new Map<string, number>();
  readonly #controller: Controller;

  constructor(options: ExtensionRetriesOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "extension-retry",
      reconcile: (namespace) => Promise.resolve(this.#reconcile(namespace)),
      context: options.context,
    });
  }

  /**
   * Extensions were asked, or there is nothing to ask them any more.
   *
   * @param failed the names of those that have failed
   * @param made what they were asked about
   */
  asked(namespace: string, failed: ReadonlySet<string>, made = "Injection"): void {
    const before = this.#waits.get(namespace)?.get(made);
    if (failed.size === 0) {
      this.#set(namespace, made, undefined);
      return;
    }
    const ms = Math.min(longestMs, 2 * (before?.ms ?? firstMs / 2));
    this.#set(namespace, made, { ms, extensions: failed, dueMs: this.#nowMs + ms, isOver: false });
    this.#controller.after(namespace, ms);
  }

  /** True while something waits for the extension, which is asked about it again. */
  isAwaited(extension: string): boolean {
    return this.#waiting.has(extension);
  }

  /** To be called when a namespace is gone. */
  forget(namespace: string): void {
    for (const made of this.#waits.get(namespace)?.keys() ?? []) this.#set(namespace, made, undefined);
  }

  /** An extension that had failed has answered. */
  recovered(): void {
    for (const [namespace, waits] of this.#waits) {
      for (const [made, wait] of waits) if (!wait.isOver) waits.set(made, { ...wait, dueMs: this.#nowMs });
      this.#controller.add(namespace);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#controller.run(signal);
    // Another replica asks from now on.
    for (const namespace of this.#waits.keys()) this.forget(namespace);
  }

  /** Ends the waits of a namespace whose time has come. */
  #reconcile(namespace: string): WorkResult | undefined {
    const nowMs = this.#nowMs;
    const due = [...(this.#waits.get(namespace) ?? [])].filter(([, { dueMs }]) => dueMs <= nowMs);
    for (const [made, wait] of due)
      this.#set(
        namespace,
        made,
        wait.isOver ? undefined : { ...wait, dueMs: nowMs + silentMs, isOver: true },
      );
    if (due.some(([, { isOver }]) => !isOver)) this.#options.lookAgain(namespace);
    const next = Math.min(...[...(this.#waits.get(namespace)?.values() ?? [])].map(({ dueMs }) => dueMs));
    return next === Infinity ? undefined : { requeueAfterMs: next - nowMs };
  }

  get #nowMs(): number {
    return this.#options.context.clock.monotonicMs();
  }

  #set(namespace: string, made: string, wait: Wait | undefined): void {
    const waits = this.#waits.get(namespace) ?? new Map<string, Wait>();
    const before = waits.get(made);
    for (const name of wait?.extensions ?? []) this.#waiting.set(name, (this.#waiting.get(name) ?? 0) + 1);
    if (wait === undefined) waits.delete(made);
    else waits.set(made, wait);
    if (waits.size === 0) this.#waits.delete(namespace);
    else this.#waits.set(namespace, waits);
    for (const name of before?.extensions ?? []) this.#leave(name);
  }

  #leave(extension: string): void {
    const left = (this.#waiting.get(extension) ?? 1) - 1;
    if (left > 0) this.#waiting.set(extension, left);
    else {
      this.#waiting.delete(extension);
      this.#options.onSettled(extension);
    }
  }
}
