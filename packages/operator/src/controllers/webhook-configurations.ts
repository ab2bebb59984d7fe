import {
  releaseFields,
  type ClusterWatches,
  type KubeObject,
  type ObjectScope,
  type RestClient,
} from "@bunting/kube";
import { aborted, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import {
  mutatingWebhookType,
  validatingWebhookType,
  webhookConfigurationNames,
  type WebhookConfigurationNames,
} from "../api/webhooks.js";
import type { CallSource } from "../certificates/call-source.js";
import {
  isFilledByOthers,
  webhookCallsOf,
  type LiveWebhooks,
  type OtherCertificates,
  type WebhookCall,
} from "../desired/webhook-calls.js";
import type { WebhookAddress } from "../desired/webhook-configurations.js";
import { fieldManager } from "./apply/managed-object.js";
import type { ControllerMetrics } from "./controller-metrics.js";
import { Controller } from "./controller.js";

export interface WebhookConfigurationsOptions {
  readonly client: Pick<RestClient, "apply" | "patch">;
  readonly watches: Pick<ClusterWatches, "inform">;
  readonly source: CallSource;
  /** How API servers reach us: other webhooks in these configurations are not ours. */
  readonly address: WebhookAddress;
  /** Called when all configurations that there are have this. */
  readonly onApplied: (call: WebhookCall) => void;
  readonly context: Context<ControllerMetrics>;
}

const kinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] as const;
type Kind = (typeof kinds)[number];

/** Whoever else writes what we apply is answered at this pace, not in a loop. */
const driftMs = 1_000;

/**
 * Keeps the secret paths, and the bundle of the authorities, in the configurations of the webhooks. Whoever installed the operator made these, and
 * everything else in them stays theirs: without one there is nothing to do. Only the leader runs it.
 */
export class WebhookConfigurations implements Runnable {
  readonly name = "webhook configurations";
  readonly #options: WebhookConfigurationsOptions;
  readonly #controller: Controller;
  readonly #scopes: Readonly<Record<Kind, ObjectScope>>;
  /** What there is, by kind. */
  readonly #live = new Map<Kind, KubeObject & LiveWebhooks>();
  /** What each is known to have. */
  readonly #applied = new Map<Kind, WebhookCall>();
  /** Of which it is not known yet whether there is one. */
  readonly #unread = new Set<Kind>();
  #others: OtherCertificates = "kept";
  #hasWarned = false;

  /** @param names of the configurations: those of the open-feature-operator, unless the operator has its own */
  constructor(
    options: WebhookConfigurationsOptions,
    { mutating, validating }: WebhookConfigurationNames = webhookConfigurationNames,
  ) {
    this.#options = options;
    this.#scopes = {
      MutatingWebhookConfiguration: { type: mutatingWebhookType, name: mutating },
      ValidatingWebhookConfiguration: { type: validatingWebhookType, name: validating },
    };
    this.#controller = new Controller({
      name: "webhooks",
      reconcile: (key, signal) => this.#reconcile(key as Kind, signal),
      context: options.context,
    });
    options.source.onChange(() => this.#addAll());
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watches } = this.#options;
    const informers = kinds.map((kind) =>
      watches.inform<KubeObject & LiveWebhooks>(this.#scopes[kind], {
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
    const { client, source, address, context } = this.#options;
    const [live, { call }] = [this.#live.get(kind), source];
    if (call === undefined) return undefined;
    if (live === undefined) {
      this.#tellApplied(call);
      return undefined;
    }
    if (call.bundle !== undefined && isFilledByOthers(live)) this.#warn(kind, live);
    const desired = webhookCallsOf(kind, live, call, address, this.#others);
    const scope = this.#scopes[kind];
    if (desired === "current") {
      // Helm could not remove webhooks of which we own a field: `helm rollback` failed.
      const release = releaseFields(live, fieldManager);
      if (release !== undefined) await client.patch(scope, "json", release, signal);
    } else {
      await client.apply(scope, desired, { fieldManager, force: true }, signal);
      context.logger.info({ kind, name: scope.name }, "API servers call the webhooks in another way");
    }
    this.#applied.set(kind, call);
    this.#tellApplied(call);
    return undefined;
  }

  /** Where there is none at all, one may yet be installed that has an earlier bundle. */
  #tellApplied(call: WebhookCall): void {
    const kindsThere = [...this.#live.keys()];
    const isEverywhere = kindsThere.every((kind) => isSame(this.#applied.get(kind), call));
    if (isEverywhere && kindsThere.length > 0 && this.#unread.size === 0) this.#options.onApplied(call);
  }

  #warn(kind: Kind, { metadata }: LiveWebhooks): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#options.context.logger.warn(
      { kind, name: metadata.name },
      "an annotation asks cert-manager to fill this configuration, so the operator's own authority is of no use: remove the annotation, or run with --certificates=cert-manager",
    );
  }
}

function isSame(one: WebhookCall | undefined, other: WebhookCall): boolean {
  return one?.key === other.key && one.bundle === other.bundle;
}
