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
  /** Time out of sync after which a watch is overdue, and its FeatureFlags are stale: shorter gaps are normal. */
  readonly staleAfterMs: number;
}

export interface WatchEvents {
  /** Called when the watch is in sync, by a read that began at `readStartedMs`, or (undefined) by resuming. */
  readonly onSynced: (watch: ScopeWatch, readStartedMs: number | undefined) => void;
  readonly onFailed: (watch: ScopeWatch, error: KubeError) => void;
  /** Called when the watch is overdue. */
  readonly onStale: (watch: ScopeWatch, error: KubeError) => void;
}

export interface ScopeWatchOptions {
  readonly key: WatchKey;
  readonly audience: Audience;
  readonly shared: WatchShared;
  readonly events: WatchEvents;
}

/**
 * A watch of one FeatureFlag, of a namespace or of the cluster. It passes what the reflector reads to the records of its audience, and says
 * whether it can be relied on. An outage is the time out of sync; the watch is overdue once that has lasted for `staleAfterMs`, and stays so until
 * it is in sync again.
 */
export class ScopeWatch implements ReflectorHandler {
  readonly kind: "object" | "namespace" | "cluster";
  /** Absent for the cluster watch. */
  readonly namespace: string | undefined;
  readonly #options: ScopeWatchOptions;
  readonly #watch: RunningWatch;
  readonly #abort = new AbortController();
  /** Records of which the watch has missed no event. */
  readonly #caughtUp = new WeakSet<FlagRecord>();
  #syncedSinceMs: number | undefined;
  #isOverdue = false;
  /** The last error of this outage. */
  #failure: KubeError | undefined;
  #cancelOverdue: (() => void) | undefined;

  constructor(options: ScopeWatchOptions) {
    const { key } = options;
    const { namespace, name } = partsOfKey(key);
    this.kind = key === clusterKey ? "cluster" : name === "*" ? "namespace" : "object";
    this.namespace = this.kind === "cluster" ? undefined : namespace;
    this.#options = options;
    const [first] = this.audience();
    this.#watch = options.shared.watches.watch({
      scope: {
        type: featureFlagType,
        ...(this.kind === "cluster" ? {} : { namespace }),
        ...(this.kind === "object" ? { name } : {}),
      },
      handler: this,
      priority: () => (this.kind === "cluster" || this.#hasExisting() ? "normal" : "speculative"),
      peer: first?.peer,
    });
  }

  get isSynced(): boolean {
    return this.#watch.reflector.isSynced;
  }

  get hasEverSynced(): boolean {
    return this.#watch.reflector.hasBeenSynced;
  }

  /** True if the watch is in sync, or was less than `staleAfterMs` ago. */
  get isAsGoodAsOpen(): boolean {
    return this.isSynced || (this.hasEverSynced && !this.#isOverdue);
  }

  /** True while the watch is out of sync because of an error, or is overdue. */
  get isFailing(): boolean {
    return this.#failure !== undefined || this.#isOverdue;
  }

  /** True while the watch is down because RBAC refuses it. */
  get isRefused(): boolean {
    return this.#failure?.code === "FORBIDDEN";
  }

  audience(): Iterable<FlagRecord> {
    return this.#options.audience.all();
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

  /** Another watch's read, begun at `readStartedMs`, covered the record. If this watch was in sync by then, it has had every event since. */
  catchUpOn(record: FlagRecord, readStartedMs: number): void {
    if (this.isSynced && this.#syncedSinceMs !== undefined && this.#syncedSinceMs <= readStartedMs)
      this.#caughtUp.add(record);
  }

  run(): Promise<void> {
    this.#beginOutage();
    return this.#watch.run(this.#abort.signal);
  }

  stop(): void {
    this.#endOutage();
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
    // Records that are stale hear only of a read that the outage is over.
    if (this.#isOverdue) this.relist();
    else this.#synced(undefined);
  }

  interrupted(): void {
    if (!this.#abort.signal.aborted) this.#beginOutage();
  }

  failed(error: KubeError): void {
    // The wait for the first opening is no outage: that begins with the first failure.
    if (!this.hasEverSynced && this.#failure === undefined) this.#endOutage();
    this.#failure = error;
    this.#beginOutage();
    this.#options.events.onFailed(this, error);
  }

  #synced(readStartedMs: number | undefined): void {
    this.#endOutage();
    this.#syncedSinceMs = this.#options.shared.context.clock.monotonicMs();
    this.#options.events.onSynced(this, readStartedMs);
  }

  #endOutage(): void {
    this.#failure = undefined;
    this.#isOverdue = false;
    this.#cancelOverdue?.();
    this.#cancelOverdue = undefined;
  }

  /** Does nothing if an outage is being timed already. */
  #beginOutage(): void {
    const { staleAfterMs } = this.#options.shared;
    const { clock } = this.#options.shared.context;
    this.#cancelOverdue ??= clock.after(staleAfterMs, () => this.#overdue());
  }

  #overdue(): void {
    const error = this.#failure ?? this.#watch.reflector.reasonToWait;
    this.#cancelOverdue = undefined;
    if (error === undefined && !this.hasEverSynced) {
      // The watch only waits for its first opening, behind many others.
      this.#beginOutage();
      return;
    }
    this.#isOverdue = true;
    const waited = `a watch was not open again after ${this.#options.shared.staleAfterMs} ms`;
    this.#options.events.onStale(this, error ?? new KubeError("TIMEOUT", waited));
  }
}
