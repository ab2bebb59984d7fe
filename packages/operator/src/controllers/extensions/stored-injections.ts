import type { ClusterWatches, KubeObject, RunningInformer } from "@bunting/kube";
import type { Runnable } from "@bunting/runtime";
import { extendedLabel, injectionName, injectionType, type InjectionSpec } from "../../api/injection.js";

interface StoredInjection extends KubeObject {
  readonly spec: InjectionSpec | undefined;
}

/** Injections about whose entries extensions were asked, on each replica: what a webhook would compile by itself is not what they have made of it. */
export class StoredInjections implements Runnable {
  readonly name = "extended injections";
  readonly #informer: RunningInformer<StoredInjection, never>;

  constructor(watches: Pick<ClusterWatches, "inform">) {
    this.#informer = watches.inform<StoredInjection>(
      { type: injectionType, labelSelector: `${extendedLabel}=true` },
      { transform: stored, handler: { changed: () => undefined } },
    );
  }

  get whenSynced(): Promise<void> {
    return this.#informer.informer.whenSynced;
  }

  get hasSynced(): boolean {
    return this.#informer.informer.hasSynced;
  }

  of(namespace: string): InjectionSpec | undefined {
    return this.#informer.informer.store.get(`${namespace}/${injectionName}`)?.spec;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#informer.run(signal);
  }
}

function stored({ metadata, ...object }: KubeObject): StoredInjection {
  const { name, namespace = "", uid = "", resourceVersion = "" } = metadata;
  return {
    metadata: { name, namespace, uid, resourceVersion },
    spec: (object as Partial<StoredInjection>).spec,
  };
}
