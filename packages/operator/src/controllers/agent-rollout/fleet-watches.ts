import {
  compareResourceVersions,
  keyOf,
  type ClusterWatches,
  type KubeObject,
  type RunningInformer,
} from "@bunting/kube";
import { untilAny } from "@bunting/runtime";
import type { Fleet, FleetPod } from "../../upgrade/fleet.js";
import { namespaceType, podType } from "../../api/core-types.js";
import { resourceTypes } from "../apply/resource-types.js";
import { storedBudget, type StoredBudget } from "./fleet-budget.js";
import { storedPod, type StoredPod } from "./fleet-pod.js";

/** Watches Pods, PodDisruptionBudgets and namespaces, from `begin` to `stop`. */
export class FleetWatches {
  readonly #watches: ClusterWatches;
  readonly #exempt: ReadonlySet<string>;
  readonly #own: string;
  readonly #onChange: () => void;
  #running: RunningWatches | undefined;

  /**
   * @param namespaces.exempt namespaces whose Pods are left alone
   * @param namespaces.own the operator's namespace: Pods that pull images for nodes are ours only there
   */
  constructor(
    watches: ClusterWatches,
    { exempt, own }: { readonly exempt: ReadonlySet<string>; readonly own: string },
    onChange: () => void,
  ) {
    this.#watches = watches;
    this.#exempt = exempt;
    this.#own = own;
    this.#onChange = onChange;
  }

  /** Starts the watches, unless they run. They end with `stop`, or when the signal aborts. */
  begin(signal: AbortSignal): void {
    this.#running ??= this.#open(signal);
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.abort.abort();
    await running?.ended;
  }

  /** Takes our own write of a Pod before the watch reports it: until then, a disruption budget could be used twice. */
  written(object: KubeObject): void {
    const pod = storedPod(object);
    const key = keyOf(pod);
    // One that is gone by now is never reported again.
    if (this.#running?.pods.informer.store.get(key) !== undefined) this.#running.written.set(key, pod);
  }

  /** The present state of the fleet; undefined until every watch has synced. */
  get fleet(): Omit<Fleet, "rollouts"> | undefined {
    const running = this.#running;
    if (running === undefined) return undefined;
    const { pods, budgets, namespaces } = running;
    if (![pods, budgets, namespaces].every(({ informer }) => informer.hasSynced)) return undefined;
    const stored = [...pods.informer.store.list()];
    const labels = [...namespaces.informer.store.list()].map(
      ({ metadata }) => [metadata.name, metadata.labels ?? {}] as const,
    );
    return {
      pods: stored.map((pod) => newest(pod, running.written)),
      pulls: stored.flatMap(({ metadata, pull }) =>
        pull === undefined || metadata.namespace !== this.#own ? [] : [pull],
      ),
      budgets: Array.from(budgets.informer.store.list(), ({ budget }) => budget),
      namespaces: new Map(labels.filter(([name]) => !this.#exempt.has(name))),
    };
  }

  #open(signal: AbortSignal): RunningWatches {
    const written = new Map<string, StoredPod>();
    const synced = this.#onChange;
    const handler = { changed: this.#onChange, synced };
    const pods = this.#watches.inform<StoredPod>(
      { type: podType },
      {
        transform: storedPod,
        handler: {
          synced,
          changed: (key, object) => {
            if (object === undefined) written.delete(key);
            this.#onChange();
          },
        },
      },
    );
    const budgets = this.#watches.inform<StoredBudget>(
      { type: resourceTypes.PodDisruptionBudget },
      { transform: storedBudget, handler },
    );
    const namespaces = this.#watches.inform(
      { type: namespaceType, isMetadataOnly: true },
      { transform: labelled, handler },
    );
    const abort = new AbortController();
    const ended = untilAny([signal, abort.signal], (until) =>
      Promise.all([pods, budgets, namespaces].map((each) => each.run(until))),
    );
    return { pods, budgets, namespaces, written, abort, ended };
  }
}

interface RunningWatches {
  readonly pods: RunningInformer<StoredPod, never>;
  readonly budgets: RunningInformer<StoredBudget, never>;
  readonly namespaces: RunningInformer<KubeObject, never>;
  readonly written: Map<string, StoredPod>;
  readonly abort: AbortController;
  readonly ended: Promise<unknown>;
}

function newest(seen: StoredPod, written: Map<string, StoredPod>): FleetPod {
  const key = keyOf(seen);
  const own = written.get(key);
  if (own === undefined) return seen.fleet;
  const isBehind =
    own.fleet.uid === seen.fleet.uid &&
    compareResourceVersions(seen.fleet.resourceVersion, own.fleet.resourceVersion) < 0;
  if (isBehind) return own.fleet;
  written.delete(key);
  return seen.fleet;
}

function labelled({ metadata: { name, uid, resourceVersion, labels = {} } }: KubeObject): KubeObject {
  return {
    metadata: {
      name,
      labels,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}
