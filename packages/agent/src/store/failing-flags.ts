import { Signal, type Clock } from "@bunting/runtime";
import type { FailingFlag } from "../sync/sync-source.js";
import type { StoreChange } from "./flag-store.js";

/** For so long after a change, failures are held against it. */
const watchedMs = 600_000;
/** Failures of before are counted in two windows, of which the older is dropped. */
const windowMs = 60_000;
/** So few failures may be of one application that starts, or of somebody who tries something. */
const leastFailures = 5;
/** Failures, to those that there were in the same time before. */
const leastRatio = 2;
/** Applications may ask for flags of any name, and a change may be of all flags. */
const maxKeys = 1_000;
/** Of a key, in characters. Applications may ask for longer ones than any flag has, of which so many as above would fill the heap. */
const maxLength = 256;

/** A flag that was changed or removed. */
interface Watched {
  readonly sourceIndex: number;
  readonly sinceMs: number;
  /** Failures in a millisecond before the change. */
  readonly before: number;
  failures: number;
  isReported: boolean;
}

/**
 * Notices flags whose evaluations fail more often than before, since their source has changed or removed them: the application asks for another type,
 * or for a flag that is gone. Only failures cost anything here, and what they are counted in is bounded.
 */
export class FailingFlags {
  /** Emits each such flag once, until it is changed again. */
  readonly found = new Signal<FailingFlag>();
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #watched = new Map<string, Watched>();
  /** Failures by key: of this window, and of the one before. */
  #now = new Map<string, number>();
  #earlier = new Map<string, number>();
  #windowBeganMs: number;
  readonly #beganMs: number;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
    this.#windowBeganMs = this.#beganMs;
  }

  /** To be called for each change of what is served. */
  changed({ changes }: Pick<StoreChange, "changes">): void {
    const nowMs = this.#clock.monotonicMs();
    this.#turnWindows(nowMs);
    for (const [key, { sinceMs }] of this.#watched)
      if (nowMs - sinceMs > watchedMs) this.#watched.delete(key);
    for (const { key, type, before, after } of changes) {
      // A new flag may be asked for before it is there.
      if (type === "write" || key.length > maxLength) continue;
      // Of two sources with the flag the later is served: it is the one that has begun or ceased to have it.
      const sourceIndex = Math.max(before?.sourceIndex ?? 0, after?.sourceIndex ?? 0);
      this.#watched.delete(key);
      if (this.#watched.size >= maxKeys && !this.#dropBefore(nowMs)) return;
      const rate = this.#rateOf(key, nowMs);
      this.#watched.set(key, { sourceIndex, sinceMs: nowMs, before: rate, failures: 0, isReported: false });
    }
  }

  /** To be called when flags have other sources than before: what fails since then, no version of a document has done. */
  forget(): void {
    this.#watched.clear();
  }

  /** To be called for each evaluation that fails. */
  failed(key: string, code: string): void {
    if (key.length > maxLength) return;
    const nowMs = this.#clock.monotonicMs();
    this.#turnWindows(nowMs);
    if (this.#now.size < maxKeys || this.#now.has(key)) this.#now.set(key, (this.#now.get(key) ?? 0) + 1);
    const watched = this.#watched.get(key);
    if (watched === undefined || watched.isReported) return;
    watched.failures++;
    const { sourceIndex, sinceMs, before, failures } = watched;
    const forMs = nowMs - sinceMs;
    if (forMs > watchedMs || failures < leastFailures + leastRatio * before * forMs) return;
    watched.isReported = true;
    const reason = `its evaluations fail since this version: ${failures} in ${Math.ceil(forMs / 1_000)} s, the last with ${code}`;
    this.found.emit({ sourceIndex, key, reason });
  }

  /** Makes room for a flag of a later change; false if all that are watched are of the same one. */
  #dropBefore(nowMs: number): boolean {
    const [oldest] = this.#watched;
    return oldest !== undefined && oldest[1].sinceMs < nowMs && this.#watched.delete(oldest[0]);
  }

  #rateOf(key: string, nowMs: number): number {
    const failures = (this.#now.get(key) ?? 0) + (this.#earlier.get(key) ?? 0);
    const countedMs = Math.min(nowMs - this.#beganMs, nowMs - this.#windowBeganMs + windowMs);
    return failures === 0 ? 0 : failures / Math.max(1, countedMs);
  }

  #turnWindows(nowMs: number): void {
    const passedMs = nowMs - this.#windowBeganMs;
    if (passedMs < windowMs) return;
    this.#earlier = passedMs < 2 * windowMs ? this.#now : new Map<string, number>();
    this.#now = new Map();
    this.#windowBeganMs = nowMs;
  }
}
