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
  type ResourceScope,
} from "@bunting/kube";
import { topicKey, type TopicKey } from "@bunting/protocol";
import type { FlagRecord } from "./flag-record.js";

export type ScopeKind = "object" | "namespace" | "cluster";

/** The records a watch speaks of, at the moment it is asked. */
export interface Audience {
  all(): Iterable<FlagRecord>;
  find(topic: TopicKey): FlagRecord | undefined;
}

export interface ScopeWatchOptions {
  readonly kind: ScopeKind;
  readonly scope: ResourceScope;
  readonly audience: Audience;
  readonly shared: ReflectorShared;
  /** Called when it is in sync: by a read that began at `readStartedMs`, or (undefined) taken up where it was. */
  readonly onSynced: (watch: ScopeWatch, readStartedMs: number | undefined) => void;
  readonly onFailed: (watch: ScopeWatch, error: KubeError) => void;
  /** Called when it has been down for a while. */
  readonly onStale: (watch: ScopeWatch, error: KubeError) => void;
}

/** How long a watch may be down before what it told is called stale: shorter gaps are everyday life. */
const staleAfterMs = 5_000;

/** One watch and what it is for: an object, a namespace, or the cluster. */
export class ScopeWatch implements ReflectorHandler {
  readonly kind: ScopeKind;
  readonly #options: ScopeWatchOptions;
  readonly #reflector: Reflector;
  readonly #abort = new AbortController();
  readonly #settled = new WeakSet<FlagRecord>();
  #syncedSinceMs: number | undefined;
  #hasEverSynced = false;
  #failure: KubeError | undefined;
  #cancelStale: (() => void) | undefined;

  constructor(options: ScopeWatchOptions) {
    this.kind = options.kind;
    this.#options = options;
    this.#reflector = new Reflector({
      ...options.shared,
      scope: options.scope,
      handler: this,
      resumesAfterClose: options.kind !== "object",
    });
  }

  get namespace(): string | undefined {
    return this.#options.scope.namespace;
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

  /** The records it speaks of. */
  audience(): Iterable<FlagRecord> {
    return this.#options.audience.all();
  }

  get watch(): Reflector["watch"] {
    return this.#reflector.watch;
  }

  /** True if nothing of this record can have escaped this watch: it was judged by a read, and every event after that came here. */
  hasSettled(record: FlagRecord): boolean {
    return this.#settled.has(record);
  }

  /** Another read, begun at `readStartedMs`, judged the record. If this watch was in sync by then, it goes on from there. */
  settle(record: FlagRecord, readStartedMs: number): void {
    if (this.isSynced && this.#syncedSinceMs !== undefined && this.#syncedSinceMs <= readStartedMs) {
      this.#settled.add(record);
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
    // Who subscribes while the read is under way may have missed their object in it: it does not judge them.
    const judged = new Map<FlagRecord, string | undefined>();
    for (const record of audience.all()) judged.set(record, record.resourceVersionIn(epoch));
    const found = new Set<FlagRecord>();
    return {
      // Told at once, and not kept: what is newer than everything known is true whether or not the read gets to its end.
      add: (object, resourceVersion) => {
        const record = this.#recordOf(object);
        if (record === undefined) return;
        found.add(record);
        const known = judged.get(record);
        const isOlder = known !== undefined && compareResourceVersions(resourceVersion, known) < 0;
        if (isOlder) shared.epochs.cut(epoch);
        record.offer(object, resourceVersion, epoch, false);
      },
      remove: (object) => {
        const record = this.#recordOf(object);
        if (record !== undefined) found.delete(record);
      },
      complete: (resourceVersion, readEpoch) => {
        for (const record of judged.keys()) {
          if (audience.find(record.topic) !== record) continue;
          this.#settled.add(record);
          if (!found.has(record)) record.absent(resourceVersion, readEpoch, startedMs);
          // In a new epoch what was found was not believed yet, and is read once more.
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
