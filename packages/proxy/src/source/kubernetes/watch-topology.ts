import type { KubeError } from "@bunting/kube";
import { aborted } from "@bunting/runtime";
import type { ClaimedReads } from "../claimed-reads.js";
import { Confirmations } from "./confirmations.js";
import type { FlagRecord } from "./flag-record.js";
import type { FailingWatches, KubernetesLog } from "./kubernetes-log.js";
import { OpenWatches } from "./open-watches.js";
import { planWatches, usualLimits, type Planning } from "./plan-watches.js";
import { UnwatchedReads } from "./unwatched-reads.js";
import type { RecordIndex } from "./record-index.js";
import { createRefreshes } from "./refreshes.js";
import type { ScopeReviews } from "./scope-reviews.js";
import type { ScopeWatch, WatchShared } from "./scope-watch.js";

export interface WatchTopologyOptions {
  readonly records: RecordIndex;
  readonly planning: Planning;
  readonly shared: WatchShared;
  readonly reviews: ScopeReviews;
  readonly log: KubernetesLog;
  /** Called whenever a watch is in sync. */
  readonly onSynced: () => void;
}

/** Delay of a plan after it was asked for, so that all changes within this time share one. */
const settleMs = 20;
/** Time without an event after which a plan is made all the same: RBAC may allow more by now. */
const replanEveryMs = 60_000;

/**
 * Keeps the right watches open. Every event asks for a plan: `planWatches` decides which watches are wanted, given the
 * subscriptions and RBAC, and `OpenWatches` changes the open watches to these. Both may run at any time, so no event needs
 * handling of its own. Single FeatureFlags are read besides: by object watches to confirm a deletion, in turn if there are
 * too many for a watch each, and by a LIST to refresh.
 */
export class WatchTopology {
  readonly #options: WatchTopologyOptions;
  readonly #watches: OpenWatches;
  readonly #turns: UnwatchedReads;
  readonly #confirmations: Confirmations;
  readonly #refreshes: ClaimedReads<FlagRecord>;
  #isRunning = false;
  #cancelReconcile: (() => void) | undefined;
  #cancelReplan: (() => void) | undefined;

  constructor(options: WatchTopologyOptions) {
    const { records, shared, planning } = options;
    const read = (record: FlagRecord): void => this.#watches.read(record);
    this.#options = options;
    this.#turns = new UnwatchedReads(shared.context.clock, read);
    this.#refreshes = createRefreshes(shared, records);
    this.#watches = new OpenWatches({
      records,
      shared,
      usesObjectWatches: planning.watchScope === "auto" || planning.watchScope === "object",
      maxBridges: { ...usualLimits, ...planning.limits }.maxAbsent,
      isBeingRead: (record) => this.#confirmations.has(record) || this.#turns.has(record),
      events: {
        onSynced: (watch) => this.#synced(watch),
        onFailed: (watch, error) => this.#failed(watch, error),
        onStale: (watch, error) => this.#stale(watch, error),
      },
    });
    this.#confirmations = new Confirmations({
      records,
      clock: shared.context.clock,
      watchOf: (record) => this.#watches.wantedOf(record),
      read,
    });
  }

  watches(): Iterable<ScopeWatch> {
    return this.#watches.all();
  }

  /** Number of FeatureFlags that are only read in turn, because there are too many for a watch each. */
  get unwatched(): number {
    return this.#turns.size;
  }

  /** Number of watches that wait because their names are not known to exist. */
  get waiting(): number {
    return this.#options.shared.watches.waitingSpeculative;
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    // Refreshes that were asked for before there was a topology.
    for (const record of this.#options.records.all())
      if (record.isAwaited) record.awaitRead(this.#refreshes.claim(record, undefined));
    this.#reconcile();
    await aborted(signal);
    this.#isRunning = false;
    this.#cancelReconcile?.();
    this.#cancelReplan?.();
    this.#confirmations.stop();
    this.#turns.stop();
    await Promise.all([this.#refreshes.stop(), this.#watches.stop()]);
  }

  /** A FeatureFlag has its first subscription. */
  add(record: FlagRecord): void {
    if (!this.#isRunning) return;
    this.#watches.add(record);
    this.ask();
  }

  /** A FeatureFlag has lost its last subscription. */
  remove(record: FlagRecord): void {
    this.#watches.remove(record);
    this.#turns.drop(record);
    this.#confirmations.drop(record);
    this.#refreshes.drop(record);
    this.ask();
  }

  /** A FeatureFlag began or ceased to exist, or seems gone. */
  changed(record: FlagRecord): void {
    if (record.goneSinceMs !== undefined && this.#isRunning) this.#confirmations.seemsGone();
    this.ask();
  }

  /** Reads the record again, and calls back when that is done. Returns a function that cancels. */
  refresh(record: FlagRecord, done: () => void, peer: unknown): () => void {
    const endClaim = this.#refreshes.claim(record, peer);
    const cancel = record.awaitRead(() => {
      endClaim();
      done();
    });
    return () => {
      endClaim();
      cancel();
    };
  }

  /** Asks for a plan, after a short delay. */
  ask(): void {
    if (!this.#isRunning) return;
    this.#cancelReconcile ??= this.#options.shared.context.clock.after(settleMs, () => {
      this.#cancelReconcile = undefined;
      this.#reconcile();
    });
  }

  #reconcile(): void {
    const { records, planning, reviews, shared } = this.#options;
    this.#cancelReplan?.();
    this.#cancelReplan = shared.context.clock.after(replanEveryMs, () => this.#reconcile());
    const flags = [...records.all()];
    const wanted = planWatches({
      ...planning,
      flags,
      current: this.#watches.wanted,
      isAllowed: (namespace) => reviews.isAllowed(namespace),
    });
    this.#watches.reconcile(wanted);
    this.#turns.update(new Set(flags.filter((record) => !this.#watches.isProvidedFor(record))));
  }

  #synced(watch: ScopeWatch): void {
    if (watch.kind === "object") {
      for (const record of watch.audience()) this.#turns.end(record);
    } else this.#options.reviews.confirmed(watch.namespace);
    this.#options.log.recovered(this.#failing());
    this.#options.onSynced();
    this.ask();
  }

  #failed(watch: ScopeWatch, error: KubeError): void {
    const { log, reviews, planning } = this.#options;
    log.failed(error, () => this.#failing());
    const isForbidden = error.code === "FORBIDDEN";
    // The API server answers: an outage that is over may leave only what RBAC refuses.
    if (isForbidden) log.recovered(this.#failing());
    if (watch.kind === "object") {
      for (const record of watch.audience()) {
        if (isForbidden) record.forbidden();
        if (!this.#turns.end(record)) continue;
        // At once: the watch is closed now, and nobody sees whether it stays down until the next turn.
        this.#tellStale(record, error);
        this.ask();
      }
    } else if (isForbidden && planning.watchScope === "auto") reviews.refused(watch.namespace);
  }

  #stale(watch: ScopeWatch, error: KubeError): void {
    this.#options.log.failed(error, () => this.#failing());
    for (const record of watch.audience()) this.#tellStale(record, error);
  }

  #tellStale(record: FlagRecord, error: KubeError): void {
    const isWatched = this.#watches.of(record).some((other) => other.isAsGoodAsOpen);
    if (!isWatched) record.stale(error);
  }

  #failing(): FailingWatches {
    const failing = { refused: 0, others: 0 };
    for (const watch of this.watches()) {
      if (watch.isRefused) failing.refused++;
      else if (watch.isFailing) failing.others++;
    }
    return failing;
  }
}
