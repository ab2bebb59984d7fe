import { KubeError } from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import { FairQueue } from "@bunting/runtime";
import type { FlagRecord } from "./flag-record.js";
import { beginRecordRead } from "./record-read.js";
import type { RecordIndex } from "./record-index.js";
import type { WatchShared } from "./scope-watch.js";
import { partsOfKey } from "./watch-key.js";

/** The shortest time between two reads of one FeatureFlag, watches included. */
const perFlagMs = 1_000;
/** The shortest time between two reads of any FeatureFlags. */
const perReadMs = 250;
const maxConcurrentReads = 4;
const afterFailureMs = 5_000;
/** Time-out of a read: an answer that drips in must not block other reads. */
const longestReadMs = 30_000;

/** An agent's claim to have a newer version of a FeatureFlag. */
interface Claim {
  readonly record: FlagRecord;
  /** The agent's identity, for fairness. */
  readonly peer: unknown;
}

/**
 * Reads single FeatureFlags again because agents claim to have newer versions. Any peer can claim that, so reads are
 * rate-limited and peers are served in turn. Each read is a LIST of one object; watches are not disturbed.
 */
export class Refreshes {
  readonly #shared: WatchShared;
  readonly #records: RecordIndex;
  /** Waiting records, each with the earliest time of its read. */
  readonly #waiting = new Map<FlagRecord, number>();
  readonly #claims = new FairQueue<Claim>();
  readonly #reading = new Map<FlagRecord, AbortController>();
  readonly #running = new Set<Promise<void>>();
  /** No read begins before this time. */
  #nextMs = 0;
  #timerMs = 0;
  #cancel: (() => void) | undefined;
  #hasStopped = false;

  constructor(shared: WatchShared, records: RecordIndex) {
    this.#shared = shared;
    this.#records = records;
  }

  /** While the claim stands, reads of the record count as turns of the peer. Returns a function that ends the claim. */
  claim(record: FlagRecord, peer: unknown): () => void {
    const claim: Claim = { record, peer };
    this.#claims.add(peer, claim);
    return () => this.#claims.delete(peer, claim);
  }

  /** Reads the record in its turn, unless another read comes first. */
  ask(record: FlagRecord): void {
    if (this.#hasStopped || this.#waiting.has(record) || this.#reading.has(record)) return;
    this.#wait(record, this.#dueMs(record));
  }

  drop(record: FlagRecord): void {
    this.#waiting.delete(record);
    this.#reading.get(record)?.abort();
  }

  async stop(): Promise<void> {
    this.#hasStopped = true;
    this.#cancel?.();
    this.#waiting.clear();
    for (const abort of this.#reading.values()) abort.abort();
    await Promise.all(this.#running);
  }

  #dueMs({ lastReadMs }: FlagRecord): number {
    return lastReadMs === undefined ? 0 : lastReadMs + perFlagMs;
  }

  #wait(record: FlagRecord, dueMs: number): void {
    this.#waiting.set(record, dueMs);
    this.#wake(dueMs);
  }

  #wake(dueMs: number): void {
    if (this.#hasStopped || this.#reading.size >= maxConcurrentReads) return;
    const atMs = Math.max(dueMs, this.#nextMs);
    if (this.#cancel !== undefined && this.#timerMs <= atMs) return;
    const { clock } = this.#shared.context;
    this.#cancel?.();
    this.#timerMs = atMs;
    this.#cancel = clock.after(Math.max(0, atMs - clock.monotonicMs()), () => {
      this.#cancel = undefined;
      this.#next();
    });
  }

  /** Reads the first record that is due. */
  #next(): void {
    const nowMs = this.#shared.context.clock.monotonicMs();
    for (const { record, peer } of this.#inTurn()) {
      const dueMs = this.#waiting.get(record);
      if (dueMs === undefined || dueMs > nowMs) continue;
      this.#waiting.delete(record);
      if (!record.isAwaited) continue;
      // A watch may have read it meanwhile.
      if (this.#dueMs(record) > nowMs) this.#waiting.set(record, this.#dueMs(record));
      else {
        this.#nextMs = nowMs + perReadMs;
        this.#claims.moveToBack(peer);
        this.#start(record);
        break;
      }
    }
    this.#wakeForFirst();
  }

  *#inTurn(): IterableIterator<Claim> {
    yield* this.#claims;
    // Records asked for before this source ran have no claim.
    for (const record of this.#waiting.keys()) yield { record, peer: undefined };
  }

  #wakeForFirst(): void {
    let firstMs = Infinity;
    for (const dueMs of this.#waiting.values()) firstMs = Math.min(firstMs, dueMs);
    if (firstMs < Infinity) this.#wake(firstMs);
  }

  #start(record: FlagRecord): void {
    const abort = new AbortController();
    this.#reading.set(record, abort);
    const running = this.#read(record, abort.signal);
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  async #read(record: FlagRecord, signal: AbortSignal): Promise<void> {
    const { watches } = this.#shared;
    const { clock, logger } = this.#shared.context;
    const epochs = watches.epochsOf(featureFlagType);
    const audience = this.#records.audience(record.topic);
    const handler = {
      // The time counts from here, because the request may have waited for its turn.
      beginRead: () => {
        cancelDeadline = clock.after(longestReadMs, () => this.#reading.get(record)?.abort());
        return beginRecordRead({ audience, epochs, clock });
      },
    };
    const scope = { type: featureFlagType, ...partsOfKey(record.topic) };
    let earliestMs = 0;
    let cancelDeadline = (): void => undefined;
    try {
      await watches.read({ scope, handler, request: record }, signal);
    } catch (error) {
      earliestMs = clock.monotonicMs() + afterFailureMs;
      const level = error instanceof KubeError || signal.aborted ? "debug" : "error";
      logger[level]({ error, topic: record.topic }, "reading a FeatureFlag failed");
    }
    cancelDeadline();
    this.#reading.delete(record);
    if (record.isAwaited && this.#records.has(record)) {
      this.#waiting.set(record, Math.max(earliestMs, this.#dueMs(record)));
    }
    this.#wakeForFirst();
  }
}
