import type { KubeError, ReflectorShared } from "@bunting/kube";
import type { FlagRecord } from "./flag-record.js";
import { featureFlagType } from "./feature-flag-type.js";
import type { RecordIndex } from "./record-index.js";
import { ScopeWatch } from "./scope-watch.js";
import { WatchBudget } from "./watch-budget.js";

export interface OwnWatchesOptions {
  readonly records: RecordIndex;
  readonly shared: ReflectorShared;
  readonly onSynced: (record: FlagRecord, readStartedMs: number | undefined) => void;
  readonly onFailed: (watch: ScopeWatch, error: KubeError) => void;
  readonly onStale: (watch: ScopeWatch, error: KubeError) => void;
}

/** How often one of the FeatureFlags is read that can't have a watch: there are too many of them. */
const turnEveryMs = 250;

/** The watches of single FeatureFlags, and the turns of those for which there is no place: they are read one after the other. */
export class OwnWatches {
  readonly #options: OwnWatchesOptions;
  readonly #watches = new Map<FlagRecord, ScopeWatch>();
  readonly #running = new Set<Promise<void>>();
  readonly #budget = new WatchBudget();
  /** Without a watch, the next to be read first. */
  readonly #unwatched = new Set<FlagRecord>();
  #turn: FlagRecord | undefined;
  #cancelTurn: (() => void) | undefined;

  constructor(options: OwnWatchesOptions) {
    this.#options = options;
  }

  all(): Iterable<ScopeWatch> {
    return this.#watches.values();
  }

  get(record: FlagRecord): ScopeWatch | undefined {
    return this.#watches.get(record);
  }

  /** FeatureFlags that are only read now and then. */
  get unwatched(): number {
    return this.#unwatched.size;
  }

  isUnwatched(record: FlagRecord): boolean {
    return this.#unwatched.has(record);
  }

  /** It needs a watch for good: it gets one, or, if there are too many, its turn from time to time. */
  keep(record: FlagRecord): void {
    if (this.#budget.admits(record)) {
      this.#unwatched.delete(record);
      this.open(record);
    } else if (this.#turn !== record) {
      this.#unwatched.add(record);
      this.#close(record);
      this.#scheduleTurn();
    }
  }

  /** It needs to be read, whatever the budget. */
  open(record: FlagRecord): void {
    if (this.#watches.has(record)) return;
    const { records, shared, onSynced, onFailed, onStale } = this.#options;
    const watch = new ScopeWatch({
      kind: "object",
      scope: { type: featureFlagType, namespace: record.namespace, name: record.name },
      audience: records.audienceOfOne(record),
      shared,
      onSynced: (_, readStartedMs) => {
        this.#endTurn(record);
        onSynced(record, readStartedMs);
      },
      onFailed: (failed, error) => {
        this.#endTurn(record);
        onFailed(failed, error);
      },
      onStale,
    });
    this.#watches.set(record, watch);
    const running = watch.run();
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  /** It needs neither watch nor turn. */
  drop(record: FlagRecord): void {
    this.#budget.release(record);
    this.#unwatched.delete(record);
    this.#endTurn(record);
    this.#close(record);
  }

  async stop(): Promise<void> {
    this.#cancelTurn?.();
    for (const watch of this.all()) watch.stop();
    await Promise.all(this.#running);
    this.#watches.clear();
  }

  #close(record: FlagRecord): void {
    this.#watches.get(record)?.stop();
    this.#watches.delete(record);
  }

  #scheduleTurn(): void {
    this.#cancelTurn ??= this.#options.shared.clock.after(turnEveryMs, () => {
      this.#cancelTurn = undefined;
      const [record] = this.#unwatched;
      if (record === undefined) return;
      // A turn ends with its answer; one that is still without is left to the watch it has, and the next has its turn.
      if (this.#turn === undefined) {
        this.#turn = record;
        this.#unwatched.delete(record);
        this.open(record);
      }
      this.#scheduleTurn();
    });
  }

  #endTurn(record: FlagRecord): void {
    if (this.#turn === record) this.#turn = undefined;
  }
}
