import {
  setCondition,
  type ClusterWatches,
  type EventRecorder,
  type ResourceScope,
  type RestClient,
  unlessNotFound,
} from "@bunting/kube";
import { featureFlagType, type JsonObject } from "@bunting/protocol";
import { openFeatureApiVersion } from "@bunting/featureflags/resources";
import { runInSlices, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import { Controller } from "./controller.js";
import type { ControllerMetrics } from "./controller-metrics.js";
import { judgingFeatureFlag, type FeatureFlagVerdict } from "./feature-flag-verdict.js";
import {
  acceptedCondition,
  acceptedOf,
  FeatureFlagWatch,
  type FeatureFlagListeners,
  type StoredFeatureFlag,
} from "./feature-flag-watch.js";
import { StatusWriter } from "./status-writer.js";

export interface FeatureFlagStatusOptions {
  readonly client: Pick<RestClient, "get" | "apply">;
  readonly watches: Pick<ClusterWatches, "watchAll">;
  readonly events: Pick<EventRecorder, "record">;
  /** Absent: of the whole cluster. */
  readonly namespace?: string;
  readonly rules: FeatureFlagRules;
  readonly context: Context<ControllerMetrics>;
}

/** By what FeatureFlags are judged: the same as where they are admitted. */
export interface FeatureFlagRules {
  /** Maximum size of a document as JSON, in bytes. */
  readonly maxDocumentBytes: number;
  /** The annotation `bunting.dev/validation` of a namespace, from memory. */
  readonly levelOfNamespace: (namespace: string) => string | undefined;
  /** Calls back with each namespace of which that has changed, until the returned function is called. */
  readonly listenToLevels: (listener: (namespace: string) => void) => () => void;
}

/** Fields of the status that others write, such as numbers of agents, are applied under other names: an apply takes back what it leaves out. */
const statusManager = "bunting-operator-checks";
const writesOfAll = { burst: 5, perSecond: 5 };

/**
 * Checks the FeatureFlags that were stored without being seen by the webhook, and says in their status what is so: the condition Accepted, the
 * number of flags, and the digest. Objects go by and are not kept; each that has to be checked is read alone. Only the leader runs it.
 */
export class FeatureFlagStatus implements Runnable {
  readonly name = "FeatureFlag checks";
  readonly #options: FeatureFlagStatusOptions;
  readonly #controller: Controller;
  readonly #watch: FeatureFlagWatch;
  readonly #writer: StatusWriter;

  constructor(options: FeatureFlagStatusOptions, others?: FeatureFlagListeners) {
    this.#options = options;
    this.#writer = new StatusWriter({ ...options, fieldManager: statusManager, rate: writesOfAll });
    this.#controller = new Controller({
      name: "featureflag",
      reconcile: (key, signal) => this.#reconcile(key, signal),
      context: options.context,
    });
    this.#watch = new FeatureFlagWatch((key) => this.#controller.add(key), others);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watches, namespace, rules } = this.#options;
    const scope: ResourceScope = { type: featureFlagType, ...(namespace === undefined ? {} : { namespace }) };
    const watch = watches.watchAll({ scope, handler: this.#watch });
    const stop = rules.listenToLevels((of) => {
      for (const key of this.#watch.keysIn(of)) this.#controller.add(key);
    });
    await Promise.all([this.#controller.run(signal), watch.run(signal)]).finally(stop);
    this.#watch.clear();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const [namespace = "", name = ""] = key.split("/");
    const kind = { type: featureFlagType, kind: "FeatureFlag" };
    const leftMs = this.#writer.pauseLeftMs({
      ...kind,
      metadata: { namespace, name, uid: this.#watch.uidOf(key) },
    });
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const scope = { type: featureFlagType, namespace, name };
    const object = await unlessNotFound(this.#options.client.get(scope, signal));
    if (object === undefined) return undefined;
    const { levelOfNamespace, maxDocumentBytes } = this.#options.rules;
    const level = levelOfNamespace(namespace);
    const work = judgingFeatureFlag(object as unknown as JsonObject, level, { maxDocumentBytes });
    const verdict = await runInSlices(work);
    const status = this.#statusOf(object, verdict);
    if (status === undefined) return undefined;
    const { uid } = object.metadata;
    const metadata = { namespace, name, ...(uid === undefined ? {} : { uid }) };
    // There may be many of them: where the type is outdated, each is written when it changes, or by the next leader.
    await this.#writer.write({ ...kind, metadata }, status, signal);
    if (verdict.accepted !== "True") this.#tell(object, verdict);
    return undefined;
  }

  /** What is to be written; undefined if it is written already. */
  #statusOf(
    object: StoredFeatureFlag,
    verdict: FeatureFlagVerdict,
  ): Readonly<Record<string, unknown>> | undefined {
    const { accepted, reason, message, flags, digest } = verdict;
    const before = acceptedOf(object);
    const conditions = setCondition(
      before === undefined ? [] : [before],
      {
        type: acceptedCondition,
        status: accepted,
        reason,
        message,
        observedGeneration: object.metadata.generation ?? 0,
      },
      this.#options.context.clock.now(),
    );
    const isSame =
      conditions[0] === before && object.status?.flags === flags && object.status.digest === digest;
    return isSame ? undefined : { conditions, flags, ...(digest === undefined ? {} : { digest }) };
  }

  #tell(
    { metadata: { namespace, name, uid } }: StoredFeatureFlag,
    { reason, message }: FeatureFlagVerdict,
  ): void {
    this.#options.events.record({
      regarding: {
        apiVersion: openFeatureApiVersion,
        kind: "FeatureFlag",
        name,
        ...(namespace === undefined ? {} : { namespace }),
        ...(uid === undefined ? {} : { uid }),
      },
      type: "Warning",
      reason,
      action: "Check",
      note: message,
    });
  }
}
