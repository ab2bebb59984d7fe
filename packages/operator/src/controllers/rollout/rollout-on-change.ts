import type { ClusterWatches, EventRecorder, RestClient, RunningInformer } from "@bunting/kube";
import { aborted, isAborted, type Context, type Runnable, type WorkResult } from "@bunting/runtime";
import { injectionName, injectionType } from "../../api/injection.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { restartWorkloads } from "./restart-workloads.js";
import { planRollout, rolledOutAnnotation, storedDigests, type StoredDigests } from "./rolled-out.js";

export interface RolloutOnChangeOptions {
  readonly client: Pick<RestClient, "readPage" | "patch" | "apply">;
  readonly watches: ClusterWatches;
  readonly events: Pick<EventRecorder, "record">;
  /** True if workloads with this text are to be restarted when what it stands for changes (`rolloutOnChange`). */
  readonly restarts: (namespace: string, text: string) => boolean;
  /** Resolves when `restarts` knows all sources. */
  readonly ready: Promise<void>;
  readonly context: Context<ControllerMetrics>;
}

/** A rollout that may not be written on the Injection yet, or that the informer has not heard of. */
interface BegunRollout {
  /** Of the Injection. */
  readonly uid: string | undefined;
  /** The annotation, once it is done. */
  readonly next: string;
  /** When workloads are restarted. */
  readonly at: string;
  isWritten: boolean;
}

/** An edit is often followed by another one, in ms. */
const settleMs = 3_000;
/** The shortest time between two restarts in a namespace: whoever shares a source with it may edit that all the time. */
const pauseMs = 60_000;

/**
 * Restarts workloads when what their Pods would get has changed, if their FeatureFlagSource says so. The digests that workloads run with are written
 * on the Injection: a start of the operator restarts nothing, and a change that was compiled by a leader which ended then is not lost.
 */
export class RolloutOnChange implements Runnable {
  readonly name = "rollout on change";
  readonly #options: RolloutOnChangeOptions;
  readonly #controller: Controller;
  #injections: RunningInformer<StoredDigests, never> | undefined;
  /** By namespace, until the informer has heard of it: what is tried again must not restart twice. */
  readonly #begun = new Map<string, BegunRollout>();
  /** When workloads of a namespace were restarted last, on the monotonic clock. */
  readonly #restartedMs = new Map<string, number>();

  constructor(options: RolloutOnChangeOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "rollout",
      reconcile: (namespace, signal) => this.#reconcile(namespace, signal),
      context: options.context,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { watches, ready } = this.#options;
    // Another leader may have gone on since.
    this.#begun.clear();
    this.#restartedMs.clear();
    const injections = watches.inform<StoredDigests>(
      { type: injectionType },
      {
        transform: storedDigests,
        handler: {
          changed: (_key, object) => {
            if (object !== undefined) this.#controller.after(object.metadata.namespace ?? "", settleMs);
          },
        },
      },
    );
    this.#injections = injections;
    const work = async (): Promise<void> => {
      await Promise.race([ready, aborted(signal)]);
      if (!isAborted(signal)) await this.#controller.run(signal);
    };
    await Promise.all([injections.run(signal), work()]);
  }

  async #reconcile(namespace: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const stored = this.#injections?.informer.store.get(`${namespace}/${injectionName}`);
    if (stored === undefined) {
      this.#restartedMs.delete(namespace);
      return undefined;
    }
    const { client, restarts, context } = this.#options;
    const { changed, next } = planRollout(stored, (text) => restarts(namespace, text));
    const annotation = JSON.stringify(next);
    if (annotation === JSON.stringify(stored.rolledOut)) {
      this.#begun.delete(namespace);
      return undefined;
    }
    const isAgain = this.#begun.get(namespace)?.next === annotation;
    const sinceMs = context.clock.monotonicMs() - (this.#restartedMs.get(namespace) ?? -Infinity);
    if (changed.size > 0 && !isAgain && sinceMs < pauseMs) return { requeueAfterMs: pauseMs - sinceMs };
    const begun = this.#begin(namespace, stored, annotation);
    if (begun.isWritten) return undefined;
    if (changed.size > 0) await this.#restart(namespace, changed, begun.at, signal);
    const scope = { type: injectionType, namespace, name: injectionName };
    const annotations = { [rolledOutAnnotation]: annotation };
    const { uid } = stored.metadata;
    const object = {
      ...{ apiVersion: "bunting.dev/v1alpha1", kind: "Injection" },
      metadata: { name: injectionName, namespace, uid, annotations },
    };
    await client.apply(scope, object, { fieldManager: "bunting-operator-rollout", force: true }, signal);
    begun.isWritten = true;
    return undefined;
  }

  #begin(namespace: string, { metadata: { uid } }: StoredDigests, next: string): BegunRollout {
    const before = this.#begun.get(namespace);
    if (before?.next === next && before.uid === uid) return before;
    const at = new Date(this.#options.context.clock.now()).toISOString().replace(/\.\d+Z$/, "Z");
    const begun = { uid, next, at, isWritten: false };
    this.#begun.set(namespace, begun);
    return begun;
  }

  async #restart(
    namespace: string,
    texts: ReadonlySet<string>,
    at: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, events, context } = this.#options;
    this.#restartedMs.set(namespace, context.clock.monotonicMs());
    for (const { kind, name, uid, text } of await restartWorkloads(
      client,
      { namespace, texts, at },
      signal,
    )) {
      events.record({
        regarding: { apiVersion: "apps/v1", kind, namespace, name, uid },
        type: "Normal",
        reason: "RolledOut",
        action: "Restart",
        note: `What the FeatureFlagSource ${text} stands for has changed, so its Pods are replaced.`,
      });
    }
  }
}
