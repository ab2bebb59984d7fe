import { KubeError, unlessNotFound, type ClusterWatches, type RestClient } from "@bunting/kube";
import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import { configMapType } from "../../api/core-types.js";
import { accessLabel } from "../../desired/access.js";
import { managedLabels } from "../../desired/managed-labels.js";
import { authorityConfigMap } from "../../desired/sidecar-volumes.js";
import { fieldManager } from "../apply/managed-object.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { namedObject } from "../named-object.js";
import { Turns } from "../turns.js";

export interface AuthorityMapsOptions {
  readonly cluster: {
    readonly client: Pick<RestClient, "apply" | "delete">;
    readonly watches: Pick<ClusterWatches, "inform">;
  };
  /** Namespaces that get the bundle, and are not waited for. */
  readonly except: ReadonlySet<string>;
  /** The certificates by which the proxy is verified, in PEM; undefined while there are none. */
  readonly bundle: () => string | undefined;
  /** Called when all namespaces that ask for flags have the bundle. */
  readonly onComplete: () => void;
  /** Called when kubelets have had the time to bring it to the Pods there. */
  readonly onDelivered: (bundle: string) => void;
  readonly context: Context<ControllerMetrics>;
}

/** Told from the ConfigMaps of FeatureFlags, which have the namespace there. */
const authorityLabels = { ...managedLabels, "bunting.dev/authority": "proxy" };
const labelSelector = `bunting.dev/authority=proxy,!${accessLabel}`;

/** Kubelets bring a ConfigMap that has changed to running Pods within a minute or two: by then no certificate may need the new authority. */
const deliveryMs = 180_000;
/** Key of the work that tells of a delivery. No namespace has this name. */
const delivery = "";

/** Keeps, in each namespace whose sidecars ask the proxy, the ConfigMap by which they verify it. */
export class AuthorityMaps implements Runnable {
  readonly name = "authority ConfigMaps";
  readonly #options: AuthorityMapsOptions;
  readonly #controller: Controller;
  readonly #turns: Turns;
  readonly #asking = new Set<string>();
  /** By namespace: the bundle that was applied there last. */
  readonly #applied = new Map<string, string>();
  #hasHeardOfAll = false;
  /** The bundle that all namespaces had last, and since when, in this term. */
  #completed: { readonly bundle: string; readonly sinceMs: number } | undefined;

  constructor(options: AuthorityMapsOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "authority-maps",
      concurrency: 4,
      reconcile: async (key, signal) => (key === delivery ? this.#deliver() : this.#reconcile(key, signal)),
      context: options.context,
    });
    this.#turns = new Turns(options.context.clock);
  }

  /** Namespaces that lack the bundle, and are waited for; undefined until all have been heard of, or while there is no bundle. */
  get lacking(): readonly string[] | undefined {
    const { bundle, except } = this.#options;
    const pem = bundle();
    if (pem === undefined || !this.#hasHeardOfAll) return undefined;
    return [...this.#asking].filter(
      (namespace) => this.#applied.get(namespace) !== pem && !except.has(namespace),
    );
  }

  /** Whether sidecars of the namespace ask the proxy. */
  asks(namespace: string, isAsking: boolean): void {
    if (this.#asking.has(namespace) === isAsking) return;
    if (isAsking) this.#asking.add(namespace);
    else {
      this.#asking.delete(namespace);
      // It may be gone, and another one have its name when that asks.
      this.#applied.delete(namespace);
    }
    this.#controller.add(namespace);
  }

  /** All namespaces that there were at the start have been heard of. */
  complete(): void {
    this.#hasHeardOfAll = true;
    this.#tell();
  }

  bundleChanged(): void {
    for (const namespace of this.#asking) this.#controller.add(namespace);
    this.#tell();
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#applied.clear();
    this.#completed = undefined;
    for (const namespace of this.#asking) this.#controller.add(namespace);
    const watch = this.#options.cluster.watches.inform(
      { type: configMapType, labelSelector, isMetadataOnly: true },
      {
        transform: namedObject,
        handler: {
          changed: (_key, object, before) => {
            const metadata = (object ?? before)?.metadata;
            if (metadata?.name === authorityConfigMap) this.#controller.add(metadata.namespace);
          },
        },
      },
    );
    await Promise.all([watch.run(signal), this.#controller.run(signal)]);
    // By the next term, others may ask.
    this.#hasHeardOfAll = false;
  }

  async #reconcile(namespace: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const pem = this.#options.bundle();
    // Those of namespaces that do not ask any more stay: Pods may still mount them.
    if (pem === undefined || !this.#asking.has(namespace)) {
      this.#tell();
      return undefined;
    }
    // Who edits it all the time has it put right once in a second.
    return this.#turns.take(namespace, async () => {
      await this.#apply(namespace, pem, signal);
      // It may ask no more, as one that is gone.
      if (this.#asking.has(namespace)) this.#applied.set(namespace, pem);
      this.#tell();
      return true;
    });
  }

  async #apply(namespace: string, pem: string, signal: AbortSignal): Promise<void> {
    const { client } = this.#options.cluster;
    const scope = { type: configMapType, namespace, name: authorityConfigMap };
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: authorityConfigMap, namespace, labels: authorityLabels },
      data: { "ca.crt": pem },
    };
    const apply = () => client.apply(scope, object, { fieldManager, force: true }, signal);
    try {
      await apply();
    } catch (error) {
      // Somebody has made it immutable, so that all who are to verify the proxy would wait for this namespace.
      if (!(error instanceof KubeError) || error.code !== "INVALID") throw error;
      await unlessNotFound(client.delete(scope, signal));
      await apply();
    }
  }

  /** Another bundle may have been applied since the work was asked for: that one has its own time. */
  #deliver(): WorkResult | undefined {
    if (this.#completed === undefined) return undefined;
    const { bundle, sinceMs } = this.#completed;
    const leftMs = sinceMs + deliveryMs - this.#options.context.clock.monotonicMs();
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    this.#options.onDelivered(bundle);
    return undefined;
  }

  #tell(): void {
    const bundle = this.#options.bundle();
    if (bundle === undefined || bundle === this.#completed?.bundle || this.lacking?.length !== 0) return;
    this.#completed = { bundle, sinceMs: this.#options.context.clock.monotonicMs() };
    this.#controller.after(delivery, deliveryMs);
    this.#options.onComplete();
  }
}
