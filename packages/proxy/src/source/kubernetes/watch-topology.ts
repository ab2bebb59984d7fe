import type { KubeError, ReflectorShared } from "@bunting/kube";
import { aborted } from "@bunting/runtime";
import { Confirmations } from "./confirmations.js";
import type { FlagRecord } from "./flag-record.js";
import type { KubernetesLog } from "./kubernetes-log.js";
import { OwnWatches } from "./own-watches.js";
import {
  nothingWide,
  planWatches,
  type PlanLimits,
  type WatchPlan,
  type WatchScope,
} from "./plan-watches.js";
import type { RecordIndex } from "./record-index.js";
import type { ScopeReviews } from "./scope-reviews.js";
import type { ScopeWatch } from "./scope-watch.js";
import { WideWatches } from "./wide-watches.js";

export interface WatchTopologyOptions {
  readonly records: RecordIndex;
  readonly watchScope: WatchScope;
  readonly limits?: PlanLimits | undefined;
  readonly shared: ReflectorShared;
  readonly reviews: ScopeReviews;
  readonly log: KubernetesLog;
  /** Called whenever a watch got in sync. */
  readonly onSynced: () => void;
}

/** Changes that come together are taken together. */
const settleMs = 20;
/** How often the plan is looked at although nothing happened: RBAC may allow more by now. */
const replanEveryMs = 60_000;
/** How often one FeatureFlag is read again because somebody says there is something newer. */
const refreshEveryMs = 1_000;

/**
 * Which watches are open. A FeatureFlag begins with a watch of its own; where many of a namespace are subscribed to, one namespace
 * watch takes their place, and one cluster watch that of very many. The change is make before break: the wider watch is opened, the
 * narrow ones go once it is in sync, and on the way back the other way round. While two watches speak of the same FeatureFlag, its
 * record drops what is not news, so that nothing here has to be timed.
 *
 * `#cover` says what one record needs, `#reconcile` brings everything in line with the plan. Both are cheap and may run at any time:
 * whatever happens just asks for it.
 */
export class WatchTopology {
  readonly #options: WatchTopologyOptions;
  readonly #own: OwnWatches;
  readonly #wide: WideWatches;
  readonly #confirmations: Confirmations;
  #plan: WatchPlan = nothingWide;
  #isRunning = false;
  #cancelReconcile: (() => void) | undefined;
  #cancelReplan: (() => void) | undefined;
  /** What is to be read again, each with how to cancel that. */
  readonly #later = new Map<FlagRecord, () => void>();

  constructor(options: WatchTopologyOptions) {
    const { records, shared } = options;
    this.#options = options;
    const onFailed = (watch: ScopeWatch, error: KubeError): void => this.#failed(watch, error);
    const onStale = (watch: ScopeWatch, error: KubeError): void => this.#stale(watch, error);
    this.#own = new OwnWatches({
      records,
      shared,
      onSynced: (record, readStartedMs) => this.#ownSynced(record, readStartedMs),
      onFailed,
      onStale,
    });
    this.#wide = new WideWatches({ records, shared, onSynced: () => this.#synced(), onFailed, onStale });
    this.#confirmations = new Confirmations({
      records,
      clock: shared.clock,
      wideOf: (record) => this.#wide.planned(record, this.#plan),
      read: (record) => this.#read(record),
    });
  }

  /** Every watch there is. */
  *watches(): Iterable<ScopeWatch> {
    yield* this.#own.all();
    yield* this.#wide.all();
  }

  /** FeatureFlags that are only read now and then, as there are too many for a watch each. */
  get unwatched(): number {
    return this.#own.unwatched;
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    this.#reconcile();
    await aborted(signal);
    this.#isRunning = false;
    this.#cancelReconcile?.();
    this.#cancelReplan?.();
    for (const cancel of this.#later.values()) cancel();
    this.#confirmations.stop();
    await Promise.all([this.#own.stop(), this.#wide.stop()]);
  }

  /** A FeatureFlag is subscribed to. */
  add(record: FlagRecord): void {
    if (!this.#isRunning) return;
    this.#cover(record);
    this.ask();
  }

  /** It is not any more. */
  remove(record: FlagRecord): void {
    this.#own.drop(record);
    this.#confirmations.drop(record);
    this.#later.get(record)?.();
    this.#later.delete(record);
    this.ask();
  }

  /** It began or ceased to exist, or seems gone. */
  changed(record: FlagRecord): void {
    if (record.goneSinceMs !== undefined && this.#isRunning) this.#confirmations.seemsGone();
    this.ask();
  }

  /** Reads the record once more, and calls back when that is done. However many ask, and however often, it is one read a second. */
  refresh(record: FlagRecord, done: () => void): void {
    const isUnderWay = record.isAwaited;
    record.awaitRead(done);
    if (!isUnderWay && this.#isRunning) this.#read(record);
  }

  /** Reads everything anew: the API server's history was cut, and any stream may be of the part that is gone. */
  relistAll(): void {
    for (const watch of this.watches()) watch.relist();
  }

  /** Brings the watches in line with what is wanted, soon. */
  ask(): void {
    if (!this.#isRunning) return;
    this.#cancelReconcile ??= this.#options.shared.clock.after(settleMs, () => {
      this.#cancelReconcile = undefined;
      this.#reconcile();
    });
  }

  #reconcile(): void {
    const { records, watchScope, limits, reviews, shared } = this.#options;
    this.#cancelReplan?.();
    this.#cancelReplan = shared.clock.after(replanEveryMs, () => this.#reconcile());
    this.#plan = planWatches({
      watchScope,
      limits,
      census: records.census(),
      current: this.#plan,
      isAllowed: (namespace) => reviews.isAllowed(namespace),
    });
    this.#wide.open(this.#plan);
    for (const record of records.all()) this.#cover(record);
    if (this.#wide.closeUnplanned(this.#plan, (record) => this.#isCovered(record))) this.ask();
  }

  #cover(record: FlagRecord): void {
    if (this.#confirmations.has(record) || record.isAwaited) return;
    const { watchScope } = this.#options;
    const isWideOnly = watchScope === "namespace" || watchScope === "cluster";
    const wide = this.#wide.planned(record, this.#plan);
    if (wide === undefined) {
      // Where only wide watches are wanted, one will be planned.
      if (!isWideOnly) this.#own.keep(record);
    } else if (!wide.hasSettled(record)) {
      // From one wide watch to another: the old one stays until the new one is in sync.
      if (!wide.hasEverSynced && this.#wide.covers(record)) return;
      // Both, and the wide one takes over; or, where only wide ones are wanted, a read of what the wide one began without.
      const own = this.#own.get(record);
      if (own === undefined) {
        if (!isWideOnly || wide.hasEverSynced) this.#own.open(record);
        // It was last read before the wide one was in sync: another read says that nothing is between the two.
      } else if (own.isSynced && wide.isSynced) own.relist();
    } else if (wide.isSynced) this.#own.drop(record);
    // A settled record needs no watch while the wide one is down for a moment, and loses none that it has.
  }

  #read(record: FlagRecord): void {
    const watch = this.#own.get(record);
    if (watch === undefined) this.#own.open(record);
    else watch.relist();
  }

  #isCovered(record: FlagRecord): boolean {
    const wide = this.#wide.planned(record, this.#plan);
    if (wide !== undefined) return wide.isSynced && wide.hasSettled(record);
    return this.#own.get(record)?.isSynced === true || this.#own.isUnwatched(record);
  }

  #ownSynced(record: FlagRecord, readStartedMs: number | undefined): void {
    const wide = this.#wide.planned(record, this.#plan);
    if (readStartedMs !== undefined) wide?.settle(record, readStartedMs);
    // Who asked after that read had begun needs another one.
    if (record.isAwaited) this.#refreshLater(record);
    this.#synced();
  }

  #refreshLater(record: FlagRecord): void {
    if (this.#later.has(record)) return;
    const cancel = this.#options.shared.clock.after(refreshEveryMs, () => {
      this.#later.delete(record);
      if (record.isAwaited) this.#read(record);
    });
    this.#later.set(record, cancel);
  }

  #synced(): void {
    this.#options.log.recovered(this.#failing());
    this.#options.onSynced();
    this.ask();
  }

  #failed(watch: ScopeWatch, error: KubeError): void {
    const { log, reviews } = this.#options;
    log.failed(error, () => this.#failing());
    if (error.code !== "FORBIDDEN" || watch.kind === "object") return;
    reviews.refused(watch.namespace);
    this.ask();
  }

  #stale(watch: ScopeWatch, error: KubeError): void {
    for (const record of watch.audience()) {
      const others = [this.#own.get(record), ...this.#wide.of(record)];
      // One that was closed in good order and is being taken up again is as good as open.
      const isHeard = others.some((other) => other?.hasEverSynced === true && other.failure === undefined);
      if (!isHeard) record.stale(error);
    }
  }

  #failing(): number {
    let failing = 0;
    for (const watch of this.watches()) if (watch.failure !== undefined) failing++;
    return failing;
  }
}
