import {
  isKeyIn,
  keyOf,
  type ClusterWatches,
  type ConsistentRead,
  type KubeObject,
  type ObjectEvent,
  type ObjectMeta,
  type ReflectorHandler,
  type RunningReads,
} from "@bunting/kube";
import type { Runnable } from "@bunting/runtime";
import { podType } from "../../api/core-types.js";
import { wantsFlags } from "../../pod/injection-request.js";

/** Hears of Pods that want flags. Nothing but their metadata is known. */
export interface PodObserver {
  /** The Pod is there, or has changed; it may be told again without a change. */
  seen(key: string, metadata: ObjectMeta): void;
  /** The Pod was seen, and is gone or wants no flags any more. */
  gone(key: string): void;
  /** All Pods that there are have been told of. */
  read?(): void;
  /** What becomes of Pods is not told from now on. */
  ended?(): void;
}

/**
 * Watches the metadata of all Pods of the cluster, or of the namespaces that are served, and tells its observers of those that want flags. It keeps their keys and nothing else: Pods
 * are many, and most have nothing to do with us.
 */
export class PodStream implements Runnable, ReflectorHandler {
  readonly name: string;
  readonly #watch: RunningReads;
  readonly #observers: readonly PodObserver[];
  readonly #known = new Set<string>();

  /** @param labelSelector of the Pods that are watched; empty: all */
  constructor(watches: ClusterWatches, observers: readonly PodObserver[], labelSelector = "") {
    const scope = { type: podType, isMetadataOnly: true, labelSelector };
    this.#watch = watches.watchAll({ scope, handler: this });
    this.#observers = observers;
    this.name = this.#watch.name;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#watch.run(signal);
    for (const observer of this.#observers) observer.ended?.();
  }

  beginRead(namespace?: string): ConsistentRead {
    const read = new Set<string>();
    return {
      add: (pod) => {
        read.add(keyOf(pod));
        this.#seen(pod);
      },
      remove: (pod) => this.#gone(keyOf(pod)),
      complete: () => {
        for (const key of this.#known) if (!read.has(key) && isKeyIn(key, namespace)) this.#gone(key);
        for (const observer of this.#observers) observer.read?.();
      },
    };
  }

  event({ type, object }: ObjectEvent): void {
    if (type === "DELETED") this.#gone(keyOf(object));
    else this.#seen(object);
  }

  #seen(pod: KubeObject): void {
    const key = keyOf(pod);
    if (!wantsFlags(pod.metadata)) {
      this.#gone(key);
      return;
    }
    this.#known.add(key);
    for (const observer of this.#observers) observer.seen(key, pod.metadata);
  }

  #gone(key: string): void {
    if (!this.#known.delete(key)) return;
    for (const observer of this.#observers) observer.gone(key);
  }
}
