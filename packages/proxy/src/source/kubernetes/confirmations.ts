import type { Clock } from "@bunting/runtime";
import { confirmAfterMs, type FlagRecord } from "./flag-record.js";
import type { RecordIndex } from "./record-index.js";
import type { ScopeWatch } from "./scope-watch.js";

export interface ConfirmationsOptions {
  readonly records: RecordIndex;
  readonly clock: Clock;
  /** The wide watch that speaks of the record, if there is one. */
  readonly wideOf: (record: FlagRecord) => ScopeWatch | undefined;
  /** Reads the record by a watch of its own, anew if it has one. */
  readonly read: (record: FlagRecord) => void;
}

/** Deletions that come one after the other are one event (a namespace, a CRD): they are confirmed when it is over, or after this. */
const patienceMs = 60_000;
/** From so many on, records of one wide watch are confirmed by reading all of it at once. */
const together = 16;

/**
 * Has those read again that seem gone, when enough time has passed to tell a deletion from the end of the whole resource type: then
 * the read fails, goes on failing until the type is back, and nothing was deleted meanwhile.
 */
export class Confirmations {
  readonly #options: ConfirmationsOptions;
  /** Those that are being read, and since when they had seemed gone then: one that came back and went again is another matter. */
  readonly #asked = new Map<FlagRecord, number>();
  #lastGoneMs = 0;
  #cancel: (() => void) | undefined;

  constructor(options: ConfirmationsOptions) {
    this.#options = options;
  }

  /** True while a watch of its own is to confirm the record. */
  has(record: FlagRecord): boolean {
    const sinceMs = this.#asked.get(record);
    if (sinceMs === undefined) return false;
    if (sinceMs === record.goneSinceMs) return true;
    this.#asked.delete(record);
    return false;
  }

  /** A record began to seem gone. */
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

  #schedule(delayMs: number): void {
    this.#cancel ??= this.#options.clock.after(delayMs, () => {
      this.#cancel = undefined;
      this.#confirm();
    });
  }

  #confirm(): void {
    const { records, clock, wideOf, read } = this.#options;
    const nowMs = clock.monotonicMs();
    const quietMs = nowMs - this.#lastGoneMs;
    const due: FlagRecord[] = [];
    let nextMs = Infinity;
    for (const record of records.all()) {
      if (record.goneSinceMs === undefined || this.has(record)) continue;
      const goneMs = nowMs - record.goneSinceMs;
      const leftMs = Math.max(
        confirmAfterMs - goneMs,
        Math.min(confirmAfterMs - quietMs, patienceMs - goneMs),
      );
      if (leftMs <= 0) due.push(record);
      else nextMs = Math.min(nextMs, leftMs);
    }
    const byWide = new Map<ScopeWatch | undefined, FlagRecord[]>();
    for (const record of due) {
      const wide = wideOf(record);
      byWide.set(wide, [...(byWide.get(wide) ?? []), record]);
    }
    for (const [wide, group] of byWide) {
      if (wide !== undefined && group.length > together) {
        // One that is down reads everything as soon as it is up.
        if (wide.isSynced) wide.relist();
        // Should that read not tell, they are looked at again.
        nextMs = Math.min(nextMs, patienceMs);
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
