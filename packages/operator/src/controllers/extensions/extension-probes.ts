import { randomUUID } from "node:crypto";
import { sampleObjects, type ExtensionHook, type ExtensionTarget } from "@bunting/extension";
import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import type { Extension } from "../../api/extension.js";
import type { ExtensionPeers } from "../../extensions/extension-peers.js";
import { lintFlags } from "../../extensions/lint-flags.js";
import { preCreate } from "../../extensions/pre-create.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import type { ClusterExtensions } from "./cluster-extensions.js";
import type { ExtensionHealth } from "./extension-health.js";
import type { ExtensionRetries } from "./extension-retries.js";

export interface ExtensionProbesOptions {
  readonly extensions: Pick<ClusterExtensions, "asked" | "extension" | "someNamespace">;
  readonly health: Pick<ExtensionHealth, "of" | "lead" | "listen" | "settled">;
  readonly peers: Readonly<Record<ExtensionHook, ExtensionPeers>>;
  readonly retries: Pick<ExtensionRetries, "isAwaited">;
  readonly context: Context<ControllerMetrics>;
}

/** Until an extension is asked that fails: the first time, and at most, in ms. */
const [firstMs, longestMs] = [10_000, 60_000];
/** Extensions that are asked at a time: each may take its whole timeout. */
const concurrency = 4;
/** As long as whoever writes a FeatureFlag waits. */
const lintMs = 1_000;

const targetsOf: Readonly<Record<ExtensionHook, readonly ExtensionTarget[]>> = {
  "pre-create": ["Sidecar", "Proxy", "Flagd"],
  lint: ["FeatureFlag"],
};

/**
 * Asks extensions that fail about an object that nobody has made, later and later, until they answer. Otherwise one would be called failing until somebody writes
 * the next FeatureFlag, or for ever where the replica is gone that found it. What waits for one of them asks it anyway.
 */
export class ExtensionProbes implements Runnable {
  readonly name = "extension probes";
  readonly #options: ExtensionProbesOptions;
  /** By name, the last wait, in ms. */
  readonly #waits = new Map<string, number>();
  readonly #controller: Controller;

  constructor(options: ExtensionProbesOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "extension-probe",
      reconcile: (name, signal) => this.#reconcile(name, signal),
      concurrency,
      context: options.context,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { extensions, health } = this.#options;
    this.#waits.clear();
    health.lead(true);
    const stop = health.listen((name) => this.#changed(name));
    for (const { metadata } of extensions.asked.order) this.#changed(metadata.name);
    await this.#controller.run(signal).finally(() => {
      stop();
      health.lead(false);
    });
  }

  #changed(name: string): void {
    if (this.#options.health.of(name).kind !== "failing") this.#waits.delete(name);
    else if (!this.#waits.has(name)) {
      this.#waits.set(name, firstMs);
      this.#controller.after(name, firstMs);
    }
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const { extensions, health, retries } = this.#options;
    const [state, extension] = [health.of(name), extensions.extension(name)];
    if (state.kind !== "failing" || extension === undefined) return undefined;
    for (const hook of state.hooks)
      if (hook === "lint" || !retries.isAwaited(name)) await this.#ask(extension, hook, signal);
    const waitMs = this.#waits.get(name);
    if (waitMs === undefined) return undefined;
    const nextMs = Math.min(longestMs, 2 * waitMs);
    this.#waits.set(name, nextMs);
    return { requeueAfterMs: nextMs };
  }

  async #ask(extension: Extension, hook: ExtensionHook, signal: AbortSignal): Promise<void> {
    const { extensions, health, peers, context } = this.#options;
    const target = targetsOf[hook].find((each) => extension.spec.objects.includes(each));
    const found = target && extensions.someNamespace(extension, { hook, target });
    if (target === undefined || found === undefined) {
      health.settled(extension.metadata.name, hook);
      return;
    }
    // Mistakes in configurations are no fault of the extension.
    const namespace = { ...found, annotations: {} };
    const sample = sampleObjects(namespace.name)[target];
    // An answer of before says nothing of it.
    const object = { ...sample, metadata: { ...sample.metadata, uid: randomUUID() } };
    const asked = { operation: "CREATE", dryRun: true, namespace, object, annotations: {} } as const;
    if (hook === "pre-create") await preCreate([extension], { ...asked, target }, peers[hook], signal);
    else {
      const { clock } = context;
      await lintFlags([extension], asked, peers[hook], { clock, untilMs: clock.monotonicMs() + lintMs });
    }
  }
}
