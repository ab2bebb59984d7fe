import type { FlagRecord } from "./flag-record.js";
import type { RecordIndex } from "./record-index.js";
import { ScopeWatch, type WatchShared, type WatchEvents } from "./scope-watch.js";
import type { WatchKey } from "./watch-key.js";

export interface OpenWatchesOptions {
  readonly records: RecordIndex;
  readonly shared: WatchShared;
  /** False if object watches are not wanted: a FeatureFlag then waits for the first read of a wider watch. */
  readonly usesObjectWatches: boolean;
  /** Limit of object watches that stand in for wider ones that are down. Further FeatureFlags are read in turn. */
  readonly maxBridges: number;
  /** True while a read of the record by its object watch is under way: the watch stays open, wanted or not. */
  readonly isBeingRead: (record: FlagRecord) => boolean;
  readonly events: WatchEvents;
}

/**
 * The open watches, and their transition to the wanted ones.
 *
 * Invariants:
 * - Make before break: an unwanted watch stays open until the wanted ones have caught up on all its records.
 * - A bridge is an object watch that stands in for a wider watch, wanted but not caught up on a record. There are at most
 *   `maxBridges`; records beyond them are in `#unbridged`, and someone has to read them now and then (`isProvidedFor`).
 * - `#reads` are object watches opened for one read, by `read`; they close when it is done, or become bridges.
 * - Two watches may report the same FeatureFlag: its record drops old versions, so nothing here depends on timing.
 * - `reconcile` must be called again after every sync, because only then unwanted watches and bridges can close.
 */
export class OpenWatches {
  readonly #options: OpenWatchesOptions;
  readonly #watches = new Map<WatchKey, ScopeWatch>();
  readonly #bridges = new Set<WatchKey>();
  readonly #reads = new Set<WatchKey>();
  readonly #unbridged = new Set<FlagRecord>();
  readonly #running = new Set<Promise<void>>();
  #wanted: ReadonlySet<WatchKey> = new Set();

  constructor(options: OpenWatchesOptions) {
    this.#options = options;
  }

  get wanted(): ReadonlySet<WatchKey> {
    return this.#wanted;
  }

  all(): Iterable<ScopeWatch> {
    return this.#watches.values();
  }

  /** The open watches that report the record, wanted or not. */
  of(record: FlagRecord): ScopeWatch[] {
    return record.watchKeys.flatMap((key) => this.#watches.get(key) ?? []);
  }

  /** The wanted watch that is to report the record; undefined if there are too many records for a watch each. */
  wantedOf(record: FlagRecord): ScopeWatch | undefined {
    for (const key of record.watchKeys) if (this.#wanted.has(key)) return this.#watches.get(key);
    return undefined;
  }

  /** False if the record has no watch because there are too many records: it has to be read now and then. */
  isProvidedFor(record: FlagRecord): boolean {
    return this.wantedOf(record) !== undefined && !this.#unbridged.has(record);
  }

  /** Opens the wanted watches, and closes unwanted ones that are not needed any more. */
  reconcile(wanted: ReadonlySet<WatchKey>): void {
    this.#wanted = wanted;
    for (const key of wanted) {
      this.#bridges.delete(key);
      this.#reads.delete(key);
      this.#open(key);
    }
    for (const record of this.#options.records.all()) this.#bridge(record);
    for (const [key, watch] of this.#watches) {
      if (!wanted.has(key) && !this.#isNeeded(key, watch)) this.#close(key, watch);
    }
  }

  /** A record came: opens its object watch unless a wider watch will read it. The next plan would want the same. */
  add(record: FlagRecord): void {
    if (this.wantedOf(record) !== undefined) this.#bridge(record);
    else if (this.#options.usesObjectWatches) this.#open(record.topic);
  }

  remove(record: FlagRecord): void {
    this.#unbridged.delete(record);
    const watch = this.#watches.get(record.topic);
    if (watch !== undefined) this.#close(record.topic, watch);
  }

  /** Reads the record by an object watch: a new one, or a relist of the open one. */
  read(record: FlagRecord): void {
    const watch = this.#watches.get(record.topic);
    if (watch !== undefined) watch.relist();
    else {
      this.#reads.add(record.topic);
      this.#open(record.topic);
    }
  }

  async stop(): Promise<void> {
    for (const watch of this.all()) watch.stop();
    await Promise.all(this.#running);
    this.#watches.clear();
  }

  /** Opens a bridge if the wanted wider watch has not caught up on the record, unless that watch's first read is soon enough. */
  #bridge(record: FlagRecord): void {
    if (this.#options.isBeingRead(record)) return;
    this.#unbridged.delete(record);
    const watch = this.wantedOf(record);
    if (watch === undefined || watch.kind === "object" || watch.hasCaughtUpOn(record)) return;
    const own = this.#watches.get(record.topic);
    if (own !== undefined) {
      // Its last read may precede the sync of the wider watch: another one proves that nothing happened in between.
      if (own.isSynced && watch.isSynced) own.relist();
      if (this.#reads.has(record.topic)) this.#mayBridge(record);
      return;
    }
    const mayWait =
      !this.#options.usesObjectWatches || this.of(record).some((other) => isReliable(other, record));
    if (!watch.hasEverSynced && mayWait) return;
    if (this.#mayBridge(record)) this.#open(record.topic);
  }

  #mayBridge(record: FlagRecord): boolean {
    if (this.#bridges.size >= this.#options.maxBridges) {
      this.#unbridged.add(record);
      return false;
    }
    this.#reads.delete(record.topic);
    this.#bridges.add(record.topic);
    return true;
  }

  #isNeeded(key: WatchKey, watch: ScopeWatch): boolean {
    // A wide watch that is down reports nothing that the wanted ones will not.
    if (watch.kind !== "object" && !watch.isSynced) return false;
    for (const record of watch.audience()) {
      if (watch.kind === "object" && this.#options.isBeingRead(record)) return true;
      if (this.#reads.has(key)) return false;
      if (!this.#isCovered(record)) return true;
    }
    return false;
  }

  #isCovered(record: FlagRecord): boolean {
    const watch = this.wantedOf(record);
    return watch === undefined || isReliable(watch, record);
  }

  #open(key: WatchKey): void {
    if (this.#watches.has(key)) return;
    const { records, shared, events } = this.#options;
    const watch = new ScopeWatch({
      key,
      audience: records.audience(key),
      shared,
      events: {
        ...events,
        onSynced: (synced, readStartedMs) => {
          if (synced.kind === "object" && readStartedMs !== undefined) this.#wasRead(synced, readStartedMs);
          events.onSynced(synced, readStartedMs);
        },
      },
    });
    this.#watches.set(key, watch);
    const running = watch.run();
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  #wasRead(watch: ScopeWatch, readStartedMs: number): void {
    for (const record of watch.audience()) this.wantedOf(record)?.catchUpOn(record, readStartedMs);
  }

  #close(key: WatchKey, watch: ScopeWatch): void {
    watch.stop();
    this.#watches.delete(key);
    this.#bridges.delete(key);
    this.#reads.delete(key);
  }
}

/** True if the watch reports every change of the record. */
function isReliable(watch: ScopeWatch, record: FlagRecord): boolean {
  return watch.isSynced && watch.hasCaughtUpOn(record);
}
