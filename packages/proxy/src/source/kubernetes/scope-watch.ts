import {
  KubeError,
  type ClusterWatches,
  type ConsistentRead,
  type Epoch,
  type ObjectEvent,
  type Reflector,
  type ReflectorHandler,
  type RunningWatch,
} from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import type { Context } from "@bunting/runtime";
import type { FlagRecord } from "./flag-record.js";
import { beginRecordRead, recordOf, type Audience } from "./record-read.js";
import { clusterKey, partsOfKey, type WatchKey } from "./watch-key.js";

export interface WatchShared {
  readonly watches: ClusterWatches;
  readonly context: Pick<Context, "clock" | "logger">;
  /** Time out of sync, for any reason, after which the watch's FeatureFlags are stale: shorter gaps are normal. */
  readonly staleAfterMs: number;
}

export interface WatchEvents {
  /** Called when the watch is in sync, by a read that began at `readStartedMs`, or (undefined) by resuming. */
  readonly onSynced: (watch: ScopeWatch, readStartedMs: number | undefined) => void;
  readonly onFailed: (watch: ScopeWatch, error: KubeError) => void;
  /** Called when the watch has been out of sync for a while. */
  readonly onStale: (watch: ScopeWatch, error: KubeError) => void;
}

export interface ScopeWatchOptions {
  readonly key: WatchKey;
  readonly audience: Audience;
  readonly shared: WatchShared;
  readonly events: WatchEvents;
}

export class ScopeWatch implements ReflectorHandler {
  readonly kind: "object" | "namespace" | "cluster";
  /** Absent for the cluster watch. */
  readonly namespace: string | undefined;
  readonly #options: ScopeWatchOptions;
  readonly #watch: RunningWatch;
  readonly #abort = new AbortController();
  readonly #caughtUp = new WeakSet<FlagRecord>();
  #syncedSinceMs: number | undefined;
  #isOverdue = false;
  #failure: KubeError | undefined;
  #cancelStale: (() => void) | undefined;

  constructor(options: ScopeWatchOptions) {
    const { key } = options;
    const { namespace, name } = partsOfKey(key);
    this.kind = key === clusterKey ? "cluster" : name === "*" ? "namespace" : "object";
    this.namespace = this.kind === "cluster" ? undefined : namespace;
    this.#options = options;
    this.#watch = options.shared.watches.watch({
      scope: {
        type: featureFlagType,
        ...(this.kind === "cluster" ? {} : { namespace }),
        ...(this.kind === "object" ? { name } : {}),
      },
      handler: this,
      priority: () => (this.kind === "cluster" || this.#hasExisting() ? "normal" : "speculative"),
      peer: this.#firstRecord()?.peer,
    });
  }

  get isSynced(): boolean {
    return this.#watch.reflector.isSynced;
  }

  get hasEverSynced(): boolean {
    return this.#watch.reflector.hasBeenSynced;
  }

  /** True if the watch is in sync, or was a moment ago. */
  get isAsGoodAsOpen(): boolean {
    return this.isSynced || (this.hasEverSynced && !this.#isOverdue);
  }

  /** True while the watch is down because of an error, or has been down for long. */
  get isFailing(): boolean {
    return this.#failure !== undefined || this.#isOverdue;
  }

  audience(): Iterable<FlagRecord> {
    return this.#options.audience.all();
  }

  #firstRecord(): FlagRecord | undefined {
    for (const record of this.audience()) return record;
    return undefined;
  }

  #hasExisting(): boolean {
    for (const { existence } of this.audience()) if (existence === "exists") return true;
    return false;
  }

  get watch(): Reflector["watch"] {
    return this.#watch.reflector.watch;
  }

  /** True if the watch has missed no event of the record: a read covered the record, and every event since came here. */
  hasCaughtUpOn(record: FlagRecord): boolean {
    return this.#caughtUp.has(record);
  }

  /** Another watch's read, begun at `readStartedMs`, covered the record. A watch in sync by then has every event since. */
  catchUpOn(record: FlagRecord, readStartedMs: number): void {
    if (this.isSynced && this.#syncedSinceMs !== undefined && this.#syncedSinceMs <= readStartedMs)
      this.#caughtUp.add(record);
  }

  run(): Promise<void> {
    this.#down();
    return this.#watch.run(this.#abort.signal);
  }

  stop(): void {
    this.#up();
    this.#abort.abort();
  }

  relist(): void {
    this.#watch.reflector.relist();
  }

  beginRead(): ConsistentRead {
    const { audience, shared } = this.#options;
    return beginRecordRead({
      audience,
      epochs: shared.watches.epochsOf(featureFlagType),
      clock: shared.context.clock,
      onCovered: (record) => this.#caughtUp.add(record),
      onComplete: (readStartedMs) => this.#synced(readStartedMs),
    });
  }

  event(event: ObjectEvent, epoch: Epoch): void {
    const record = recordOf(this.#options.audience, event.object);
    if (event.type === "DELETED") record?.gone(event.resourceVersion, epoch);
    else record?.offer(event.object, event.resourceVersion, epoch, true);
  }

  resumed(): void {
    this.#synced(undefined);
  }

  interrupted(): void {
    if (!this.#abort.signal.aborted) this.#down();
  }

  failed(error: KubeError): void {
    // A watch that was never in sync, and waits for its turn, does not make its records stale.
    if (!this.hasEverSynced && this.#failure === undefined) this.#up();
    this.#failure = error;
    this.#down();
    this.#options.events.onFailed(this, error);
  }

  #synced(readStartedMs: number | undefined): void {
    this.#up();
    this.#syncedSinceMs = this.#options.shared.context.clock.monotonicMs();
    this.#options.events.onSynced(this, readStartedMs);
  }

  #up(): void {
    this.#failure = undefined;
    this.#isOverdue = false;
    this.#cancelStale?.();
    this.#cancelStale = undefined;
  }

  #down(): void {
    const { staleAfterMs } = this.#options.shared;
    const { clock } = this.#options.shared.context;
    this.#cancelStale ??= clock.after(staleAfterMs, () => this.#overdue());
  }

  #overdue(): void {
    const error =
      this.#failure ?? this.#watch.reflector.reasonToWait ?? (this.hasEverSynced ? this.#waits() : undefined);
    this.#cancelStale = undefined;
    if (error === undefined) {
      // No outage: many other watches are being opened for the first time, too.
      this.#down();
      return;
    }
    this.#isOverdue = true;
    this.#options.events.onStale(this, error);
  }

  #waits(): KubeError {
    const { staleAfterMs } = this.#options.shared;
    return new KubeError("TIMEOUT", `a watch was not open again after ${staleAfterMs} ms`);
  }
}
