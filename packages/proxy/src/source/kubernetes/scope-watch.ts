import {
  compareResourceVersions,
  Reflector,
  type ConsistentRead,
  type Epoch,
  type KubeError,
  type KubeObject,
  type ObjectEvent,
  type ReflectorHandler,
  type ReflectorShared,
} from "@bunting/kube";
import { topicKey, type TopicKey } from "@bunting/protocol";
import { featureFlagType } from "./feature-flag-type.js";
import type { FlagRecord } from "./flag-record.js";
import { clusterKey, partsOfKey, type WatchKey } from "./watch-key.js";

/** The records a watch reports to, as of now. */
export interface Audience {
  all(): Iterable<FlagRecord>;
  find(topic: TopicKey): FlagRecord | undefined;
}

export interface ScopeWatchOptions {
  readonly key: WatchKey;
  readonly audience: Audience;
  readonly shared: ReflectorShared;
  /** Called when it is in sync: by a read that began at `readStartedMs`, or (undefined) resumed where it was. */
  readonly onSynced: (watch: ScopeWatch, readStartedMs: number | undefined) => void;
  readonly onFailed: (watch: ScopeWatch, error: KubeError) => void;
  /** Called when it has been down for a while. */
  readonly onStale: (watch: ScopeWatch, error: KubeError) => void;
}

/** How long a watch may be down before its FeatureFlags are stale: shorter gaps are normal. */
const staleAfterMs = 5_000;

/** One object watch, namespace watch or cluster watch. */
export class ScopeWatch implements ReflectorHandler {
  readonly kind: "object" | "namespace" | "cluster";
  /** Absent for the cluster watch. */
  readonly namespace: string | undefined;
  readonly #options: ScopeWatchOptions;
  readonly #reflector: Reflector;
  readonly #abort = new AbortController();
  readonly #caughtUp = new WeakSet<FlagRecord>();
  #syncedSinceMs: number | undefined;
  #hasEverSynced = false;
  #failure: KubeError | undefined;
  #cancelStale: (() => void) | undefined;

  constructor(options: ScopeWatchOptions) {
    const { key } = options;
    const { namespace, name } = partsOfKey(key);
    this.kind = key === clusterKey ? "cluster" : name === "*" ? "namespace" : "object";
    this.namespace = this.kind === "cluster" ? undefined : namespace;
    this.#options = options;
    this.#reflector = new Reflector({
      ...options.shared,
      scope: {
        type: featureFlagType,
        ...(this.kind === "cluster" ? {} : { namespace }),
        ...(this.kind === "object" ? { name } : {}),
      },
      handler: this,
      resumesAfterClose: this.kind !== "object",
    });
  }

  get isSynced(): boolean {
    return this.#reflector.isSynced;
  }

  get hasEverSynced(): boolean {
    return this.#hasEverSynced;
  }

  /** Why it is down; undefined while it is not. */
  get failure(): KubeError | undefined {
    return this.#failure;
  }

  /** The records it reports to. */
  audience(): Iterable<FlagRecord> {
    return this.#options.audience.all();
  }

  get watch(): Reflector["watch"] {
    return this.#reflector.watch;
  }

  /** True if this watch has missed nothing of the record: a read covered it, and every event since then came here. */
  hasCaughtUpOn(record: FlagRecord): boolean {
    return this.#caughtUp.has(record);
  }

  /** Another watch's read, begun at `readStartedMs`, covered the record. If this watch was in sync by then, it has every event since. */
  catchUpOn(record: FlagRecord, readStartedMs: number): void {
    if (this.isSynced && this.#syncedSinceMs !== undefined && this.#syncedSinceMs <= readStartedMs) {
      this.#caughtUp.add(record);
    }
  }

  run(): Promise<void> {
    return this.#reflector.run(this.#abort.signal);
  }

  stop(): void {
    this.#up();
    this.#abort.abort();
  }

  relist(): void {
    this.#reflector.relist();
  }

  beginRead(): ConsistentRead {
    const { audience, shared } = this.#options;
    const epoch = shared.epochs.current;
    const startedMs = shared.clock.monotonicMs();
    // A record that comes while the read is under way may have missed its object: the read says nothing about it.
    const covered = new Map<FlagRecord, string | undefined>();
    for (const record of audience.all()) covered.set(record, record.resourceVersionIn(epoch));
    const found = new Set<FlagRecord>();
    return {
      // Passed on at once, not kept: what is newer than everything known is true even if the read fails later.
      add: (object, resourceVersion) => {
        const record = this.#recordOf(object);
        if (record === undefined) return;
        found.add(record);
        const known = covered.get(record);
        const isOlder = known !== undefined && compareResourceVersions(resourceVersion, known) < 0;
        if (isOlder) shared.epochs.cut(epoch);
        record.offer(object, resourceVersion, epoch, false);
      },
      remove: (object) => {
        const record = this.#recordOf(object);
        if (record !== undefined) found.delete(record);
      },
      complete: (resourceVersion, readEpoch) => {
        for (const record of covered.keys()) {
          if (audience.find(record.topic) !== record) continue;
          this.#caughtUp.add(record);
          if (!found.has(record)) record.absent(resourceVersion, readEpoch, startedMs);
          // A read that opens a new epoch was still compared with the old one; everything is read once more.
          if (readEpoch === epoch) record.wasRead(startedMs);
        }
        this.#synced(startedMs);
      },
    };
  }

  event(event: ObjectEvent, epoch: Epoch): void {
    const record = this.#recordOf(event.object);
    if (event.type === "DELETED") record?.gone(event.resourceVersion, epoch);
    else record?.offer(event.object, event.resourceVersion, epoch, true);
  }

  resumed(): void {
    this.#synced(undefined);
  }

  failed(error: KubeError): void {
    const { onFailed, onStale, shared } = this.#options;
    this.#failure = error;
    this.#cancelStale ??= shared.clock.after(staleAfterMs, () => onStale(this, this.#failure ?? error));
    onFailed(this, error);
  }

  #synced(readStartedMs: number | undefined): void {
    this.#up();
    this.#hasEverSynced = true;
    this.#syncedSinceMs = this.#options.shared.clock.monotonicMs();
    this.#options.onSynced(this, readStartedMs);
  }

  #up(): void {
    this.#failure = undefined;
    this.#cancelStale?.();
    this.#cancelStale = undefined;
  }

  #recordOf({ metadata }: KubeObject): FlagRecord | undefined {
    const { namespace } = metadata;
    return namespace === undefined
      ? undefined
      : this.#options.audience.find(topicKey(namespace, metadata.name));
  }
}
