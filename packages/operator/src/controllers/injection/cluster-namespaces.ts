import type { ExtensionNamespace } from "@bunting/extension";
import type { ClusterWatches, KubeObject, RunningInformer } from "@bunting/kube";
import { Signal } from "@bunting/runtime";
import { namespaceType } from "../../api/core-types.js";
import { labelsOf } from "../extensions/namespace-labels.js";
import { storedNamespace } from "./stored-objects.js";

/** A namespace as a store has it. */
export interface StoredNamespace extends KubeObject {
  /** What extensions are told of it; absent where none is asked. */
  readonly told?: Pick<ExtensionNamespace, "labels" | "annotations">;
}

/** A namespace that is there, was written, or is gone. */
export interface NamespaceEvent {
  readonly name: string;
  readonly now: StoredNamespace | undefined;
  readonly before: StoredNamespace | undefined;
}

/** The namespaces of the cluster, by one watch for all who read them. Whoever is handed it first runs it. */
export class ClusterNamespaces {
  readonly watch: RunningInformer<StoredNamespace, never>;
  readonly #events = new Signal<NamespaceEvent>();

  /** @param areTold whether extensions are asked, which are told labels and annotations */
  constructor(watches: Pick<ClusterWatches, "informNamespaces">, areTold = false) {
    this.watch = watches.informNamespaces<StoredNamespace>(namespaceType, {
      transform: (object) =>
        areTold ? { ...storedNamespace(object), told: labelsOf(object) } : storedNamespace(object),
      handler: { changed: (name, now, before) => this.#events.emit({ name, now, before }) },
    });
  }

  get(name: string): StoredNamespace | undefined {
    return this.watch.informer.store.get(name);
  }

  list(): Iterable<StoredNamespace> {
    return this.watch.informer.store.list();
  }

  /** Calls back with each event until the returned function is called. */
  listen(listener: (event: NamespaceEvent) => void): () => void {
    return this.#events.listen(listener);
  }
}
