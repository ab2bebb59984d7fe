import type { KubeError, ReflectorShared } from "@bunting/kube";
import type { FlagRecord } from "./flag-record.js";
import { featureFlagType } from "./feature-flag-type.js";
import type { WatchPlan } from "./plan-watches.js";
import type { RecordIndex } from "./record-index.js";
import { ScopeWatch } from "./scope-watch.js";

export interface WideWatchesOptions {
  readonly records: RecordIndex;
  readonly shared: ReflectorShared;
  readonly onSynced: () => void;
  readonly onFailed: (watch: ScopeWatch, error: KubeError) => void;
  readonly onStale: (watch: ScopeWatch, error: KubeError) => void;
}

/** The watches of namespaces and of the cluster. */
export class WideWatches {
  readonly #options: WideWatchesOptions;
  /** By namespace; that of the cluster under undefined. */
  readonly #watches = new Map<string | undefined, ScopeWatch>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: WideWatchesOptions) {
    this.#options = options;
  }

  all(): Iterable<ScopeWatch> {
    return this.#watches.values();
  }

  /** The watch that is planned to speak of the record, if it is open. */
  planned(record: FlagRecord, plan: WatchPlan): ScopeWatch | undefined {
    if (plan.cluster) return this.#watches.get(undefined);
    return plan.namespaces.has(record.namespace) ? this.#watches.get(record.namespace) : undefined;
  }

  /** The watches that speak of the record, planned or not. */
  *of(record: FlagRecord): Iterable<ScopeWatch> {
    for (const watch of [this.#watches.get(undefined), this.#watches.get(record.namespace)]) {
      if (watch !== undefined) yield watch;
    }
  }

  /** True if one of them, planned or not, misses nothing of the record. */
  covers(record: FlagRecord): boolean {
    for (const watch of this.of(record)) if (watch.isSynced && watch.hasSettled(record)) return true;
    return false;
  }

  open(plan: WatchPlan): void {
    if (plan.cluster) this.#open(undefined);
    for (const namespace of plan.namespaces) this.#open(namespace);
  }

  /** Closes what is not planned any more, as soon as nobody needs it. True if it closed something that was not replaced yet, but down. */
  closeUnplanned(plan: WatchPlan, isReplaced: (record: FlagRecord) => boolean): boolean {
    let isMissed = false;
    for (const [namespace, watch] of this.#watches) {
      if (namespace === undefined ? plan.cluster : plan.namespaces.has(namespace)) continue;
      const audience = [...this.#options.records.audience(namespace).all()];
      const isNeeded = !audience.every(isReplaced);
      if (isNeeded && watch.isSynced) continue;
      isMissed ||= isNeeded;
      watch.stop();
      this.#watches.delete(namespace);
    }
    return isMissed;
  }

  async stop(): Promise<void> {
    for (const watch of this.all()) watch.stop();
    await Promise.all(this.#running);
    this.#watches.clear();
  }

  #open(namespace: string | undefined): void {
    if (this.#watches.has(namespace)) return;
    const watch = new ScopeWatch({
      kind: namespace === undefined ? "cluster" : "namespace",
      scope: namespace === undefined ? { type: featureFlagType } : { type: featureFlagType, namespace },
      audience: this.#options.records.audience(namespace),
      ...this.#options,
    });
    this.#watches.set(namespace, watch);
    const running = watch.run();
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }
}
