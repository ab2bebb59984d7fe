import type { Clock } from "@bunting/runtime";
import type { FlagRecord } from "./flag-record.js";

/** Interval of reads of FeatureFlags without a watch. */
const turnEveryMs = 250;

/** Reads the FeatureFlags for which there is no watch, because there are too many, one after the other. */
export class UnwatchedReads {
  readonly #clock: Clock;
  readonly #read: (record: FlagRecord) => void;
  /** The next to be read comes first. */
  readonly #queue = new Set<FlagRecord>();
  #current: FlagRecord | undefined;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, read: (record: FlagRecord) => void) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Number of FeatureFlags without a watch. */
  get size(): number {
    return this.#queue.size;
  }

  /** True while the record is being read. */
  has(record: FlagRecord): boolean {
    return this.#current === record;
  }

  /** These have no watch from now on, and no others. */
  update(records: ReadonlySet<FlagRecord>): void {
    for (const record of this.#queue) if (!records.has(record)) this.drop(record);
    for (const record of records) this.#queue.add(record);
    if (this.#queue.size > 0) this.#schedule();
  }

  drop(record: FlagRecord): void {
    this.#queue.delete(record);
    this.end(record);
  }

  /** The record was read, or can't be for now. True if that was its turn. */
  end(record: FlagRecord): boolean {
    if (this.#current !== record) return false;
    this.#current = undefined;
    return true;
  }

  stop(): void {
    this.#cancel?.();
  }

  #schedule(): void {
    this.#cancel ??= this.#clock.after(turnEveryMs, () => {
      this.#cancel = undefined;
      // One that waits for its answer still has its turn.
      if (this.#current === undefined) this.#next();
      if (this.#queue.size > 0) this.#schedule();
    });
  }

  #next(): void {
    const [record] = this.#queue;
    if (record === undefined) return;
    this.#queue.delete(record);
    this.#queue.add(record);
    this.#current = record;
    this.#read(record);
  }
}
