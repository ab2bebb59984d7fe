import type { ClusterWatches, KubeObject, RestClient } from "@bunting/kube";
import { aborted, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import { mutatingWebhookType, validatingWebhookType, webhookConfigurationNames } from "../api/webhooks.js";
import type { BundleSource } from "../certificates/serving-certificates.js";
import { caBundleOf, type LiveWebhooks, type OtherCertificates } from "../desired/ca-bundle.js";
import type { WebhookAddress } from "../desired/webhook-configurations.js";
import { fieldManager } from "./apply/managed-object.js";
import type { ControllerMetrics } from "./controller-metrics.js";
import { Controller } from "./controller.js";

export interface WebhookConfigurationsOptions {
  readonly client: Pick<RestClient, "apply">;
  readonly watches: Pick<ClusterWatches, "inform">;
  readonly bundle: BundleSource;
  /** How API servers reach us: other webhooks in these configurations are not ours. */
  readonly address: WebhookAddress;
  /** Called when all configurations that there are have this bundle. */
  readonly onApplied: (bundle: string) => void;
  readonly context: Context<ControllerMetrics>;
}

/** The two configurations, by their kinds. */
const configurations = {
  MutatingWebhookConfiguration: { type: mutatingWebhookType, name: webhookConfigurationNames.mutating },
  ValidatingWebhookConfiguration: { type: validatingWebhookType, name: webhookConfigurationNames.validating },
} as const;
type Kind = keyof typeof configurations;
const kinds = Object.keys(configurations) as Kind[];

/** Whoever else writes the bundle is answered at this pace, not in a loop. */
const driftMs = 1_000;

/**
 * Keeps the bundle of the authorities in the configurations of the webhooks. Whoever installed the operator made these, and everything else in them
 * stays theirs: without one there is nothing to do. Only the leader runs it.
 */
export class WebhookConfigurations implements Runnable {
  readonly name = "webhook configurations";
  readonly #options: WebhookConfigurationsOptions;
  readonly #controller: Controller;
  /** What there is, by kind. */
  readonly #live = new Map<Kind, KubeObject & LiveWebhooks>();
  /** The bundle that each is known to have. */
  readonly #applied = new Map<Kind, string>();
  /** Of which it is not known yet whether there is one. */
  readonly #unread = new Set<Kind>();
  #others: OtherCertificates = "kept";
  #hasWarned = false;

  constructor(options: WebhookConfigurationsOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "webhooks",
      reconcile: (key, signal) => this.#reconcile(key as Kind, signal),
      context: options.context,
    });
    options.bundle.onChange(() => this.#addAll());
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watches } = this.#options;
    const informers = kinds.map((kind) =>
      watches.inform<KubeObject & LiveWebhooks>(configurations[kind], {
        handler: {
          changed: (_key, object) => this.#changed(kind, object),
          synced: () => {
            this.#unread.delete(kind);
            this.#addAll();
          },
        },
      }),
    );
    for (const kind of kinds) this.#unread.add(kind);
    await Promise.all([this.#controller.run(signal), ...informers.map((informer) => informer.run(signal))]);
    this.#live.clear();
    this.#applied.clear();
  }

  /**
   * While it runs, certificates of others are replaced: no other operator is there. Before, Pods of one that makes room for us may still answer at the
   * Service, and API servers have to accept both.
   */
  alone(): Runnable {
    return {
      name: "webhook configurations of no other operator",
      run: async (signal) => {
        this.#others = "replaced";
        this.#addAll();
        await aborted(signal);
        this.#others = "kept";
      },
    };
  }

  #addAll(): void {
    for (const kind of kinds) this.#controller.add(kind);
  }

  #changed(kind: Kind, object: (KubeObject & LiveWebhooks) | undefined): void {
    const isNew = !this.#live.has(kind);
    if (object === undefined) this.#live.delete(kind);
    else this.#live.set(kind, object);
    this.#applied.delete(kind);
    if (isNew) this.#controller.add(kind);
    else this.#controller.after(kind, driftMs);
  }

  async #reconcile(kind: Kind, signal: AbortSignal): Promise<WorkResult | undefined> {
    const { client, bundle: source, address, context } = this.#options;
    const [live, bundle] = [this.#live.get(kind), source.bundle];
    if (live === undefined || bundle === undefined) return undefined;
    const desired = caBundleOf(kind, live, bundle, address, this.#others);
    if (desired === "injected") {
      if (!this.#hasWarned)
        context.logger.warn(
          { kind, name: live.metadata.name },
          "an annotation asks cert-manager to fill this configuration, so the operator's own authority is of no use: remove the annotation, or run with --certificates=cert-manager",
        );
      this.#hasWarned = true;
      return undefined;
    }
    if (desired !== "current") {
      const scope = configurations[kind];
      await client.apply(scope, desired, { fieldManager, force: true }, signal);
      context.logger.info({ kind, name: scope.name }, "the webhooks are verified by another bundle");
    }
    this.#applied.set(kind, bundle);
    const isEverywhere = [...this.#live.keys()].every((each) => this.#applied.get(each) === bundle);
    if (isEverywhere && this.#unread.size === 0) this.#options.onApplied(bundle);
    return undefined;
  }
}
