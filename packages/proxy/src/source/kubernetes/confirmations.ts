import { confirmAfterMs } from "@bunting/kube";
import type { Clock } from "@bunting/runtime";
import type { FlagRecord } from "./flag-record.js";
import type { RecordIndex } from "./record-index.js";
import type { ScopeWatch } from "./scope-watch.js";

type ReportingWatch = Pick<ScopeWatch, "isSynced" | "relist">;

export interface ConfirmationsOptions {
  readonly records: RecordIndex;
  readonly clock: Clock;
  /** The watch that is to report the record, if there is one. */
  readonly watchOf: (record: FlagRecord) => ReportingWatch | undefined;
  /** Reads the record by an object watch. */
  readonly read: (record: FlagRecord) => void;
}

/** Longest wait for the end of deletions in quick succession (of a namespace, of a CRD), which are confirmed together. */
const timeoutMs = 60_000;
/** Limit of records of a namespace or cluster watch that are read one by one; more are confirmed by a relist of its scope. */
const maxSingleReads = 16;

/**
 * Confirms deletions: reads records that seem gone again, late enough to tell a deletion from the end of the whole resource
 * type. In that case the read fails until the type is back, and nothing counts as deleted until then.
 */
export class Confirmations {
  readonly #options: ConfirmationsOptions;
  /** Records with a read under way, each with the time of its apparent deletion: a later deletion needs a later read. */
  readonly #asked = new Map<FlagRecord, number>();
  #lastGoneMs = 0;
  /** When the records are looked at next, on the monotonic clock; Infinity without a timer. */
  #nextMs = Infinity;
  #cancel: (() => void) | undefined;

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
  }

  /** True while an object watch reads the record to confirm its deletion. */
  has(record: FlagRecord): boolean {
    const sinceMs = this.#asked.get(record);
    if (sinceMs === undefined) return false;
    if (sinceMs === record.goneSinceMs) return true;
    this.#asked.delete(record);
    return false;
  }

  /** A record seems gone from now on. */
  seemsGone(): void {
    this.#lastGoneMs = this.#options.clock.monotonicMs();
    this.#schedule(confirmAfterMs);
  }

  drop(record: FlagRecord): void {
    this.#asked.delete(record);
  }

  stop(): void {
    this.#cancel?.();
  }

  /** Looks at the records after this time, or earlier if that is due. */
  #schedule(delayMs: number): void {
    const { clock } = this.#options;
    const dueMs = clock.monotonicMs() + delayMs;
    if (this.#nextMs <= dueMs) return;
    this.#cancel?.();
    this.#nextMs = dueMs;
    this.#cancel = clock.after(delayMs, () => {
      this.#nextMs = Infinity;
      this.#confirm();
    });
  }

  #confirm(): void {
    const { records, clock, watchOf, read } = this.#options;
    const nowMs = clock.monotonicMs();
    const quietMs = nowMs - this.#lastGoneMs;
    const due: FlagRecord[] = [];
    let nextMs = Infinity;
    for (const record of records.all()) {
      if (record.goneSinceMs === undefined || this.has(record)) continue;
      const goneMs = nowMs - record.goneSinceMs;
      const leftMs = Math.max(
        confirmAfterMs - goneMs,
        Math.min(confirmAfterMs - quietMs, timeoutMs - goneMs),
      );
      if (leftMs <= 0) due.push(record);
      else nextMs = Math.min(nextMs, leftMs);
    }
    const byWatch = new Map<ReportingWatch | undefined, FlagRecord[]>();
    for (const record of due) {
      const watch = watchOf(record);
      const group = byWatch.get(watch);
      if (group === undefined) byWatch.set(watch, [record]);
      else group.push(record);
    }
    for (const [watch, group] of byWatch) {
      if (watch !== undefined && group.length > maxSingleReads) {
        // A watch that is down reads everything as soon as it is up; a relist would end its back-off.
        if (watch.isSynced) watch.relist();
        // Records that this read leaves undecided are checked again.
        nextMs = Math.min(nextMs, timeoutMs);
        continue;
      }
      for (const record of group) {
        if (record.goneSinceMs !== undefined) this.#asked.set(record, record.goneSinceMs);
        read(record);
      }
    }
    if (nextMs < Infinity) this.#schedule(nextMs);
  }
}
