import { comparePositions } from "@bunting/backplane";
import type { PastVersion } from "@bunting/protocol";
import { isRefusedTrial } from "../trial.js";
import { keepHistory, withHistory, withHistoryThrough } from "./known-history.js";
import { place, placeRead, type Known, type WatchReport } from "./known.js";
import type { LocalSink } from "./local-sink.js";

/** A consistent read, which decides between two states that contradict each other. */
export interface DecidingRead {
  readonly read: (done: () => void) => void;
  /** Last report of the watch when the read is over. */
  readonly report: () => WatchReport | undefined;
  /** Fence of this replica's lease; 0 without one. */
  readonly fence: () => number;
}

/**
 * The states of one topic, in one order, and the subscribers of this replica, who are told of each newer one.
 * Reports of the watch and records of Redis are both put into it.
 */
export class TopicHistory {
  /** Undefined without subscribers. */
  local: LocalSink | undefined;
  /** The record in Redis that contradicts the newest state: the result of the read that decides is placed after it. */
  contradiction: Known | undefined;
  readonly #onLearned: () => void;
  #newest: Known | undefined;
  /** The read that is under way: another object each time. */
  #deciding: DecidingRead | undefined;

  /** @param onLearned called after each report of the watch that was taken */
  constructor(onLearned: () => void) {
    this.#onLearned = onLearned;
  }

  /** The latest state, of whatever origin. Undefined before the first. */
  get newest(): Known | undefined {
    return this.#newest;
  }

  /** A read decides whether the report of the watch is true: nothing may be concluded from it until then. */
  get isVerifying(): boolean {
    return this.#deciding !== undefined;
  }

  /** Moves the newest state to another epoch: what was reported stays true there. */
  moveTo(epoch: number): void {
    if (this.#newest === undefined) return;
    this.#newest = { ...this.#newest, epoch };
    this.local?.moved(this.#newest);
  }

  /** Epoch 0 is that of reports without Redis: they continue in the epoch of the first record. */
  continueIn(epoch: number): void {
    if (this.#newest?.epoch === 0) this.#newest = { ...this.#newest, epoch };
  }

  /** Continues after a later state that subscribers are not told of. */
  continueAfter(known: Known): void {
    if (this.#newest !== undefined && comparePositions(known, this.#newest) > 0) this.#newest = known;
  }

  /** Takes a newer state, and tells it. False if this replica can't encode it, which makes the topic stale. */
  take(known: Known, isUnconfirmed: boolean): boolean {
    this.#newest = known;
    return this.isTaken(() => this.local?.report(known, isUnconfirmed));
  }

  /** Tells the newest state again, if it was told as stale. False as for `take`. */
  retell(): boolean {
    const [local, newest] = [this.local, this.#newest];
    return local?.isStale !== true || newest === undefined || this.isTaken(() => local.report(newest, false));
  }

  /** Keeps the past of a record that is not newer: agents may come with versions that this replica never saw. */
  extend(stored: Known): void {
    const newest = withHistoryThrough(stored, this.#newest);
    if (newest === undefined) return;
    this.#newest = newest;
    // A stale topic is reported with its history when the staleness ends.
    if (this.local?.isStale === false) this.isTaken(() => this.local?.report(newest, false));
  }

  /**
   * Puts a report of the watch into the order. False if it contradicts the newest state, so that a read must decide.
   *
   * @throws the sink's reason to refuse the document; then nothing has changed
   */
  place(report: WatchReport, fence: number): boolean {
    const known = place(report, this.#newest, fence);
    if (known !== undefined) this.#learn(known);
    return known !== undefined;
  }

  /** Makes the topic stale if the sink refuses what is reported. False if it does. */
  isTaken(report: () => void): boolean {
    try {
      report();
      return true;
    } catch (error) {
      this.local?.stale(error as Error);
      return false;
    }
  }

  /** Reads consistently before a report that contradicts the newest state may replace it, unless a read is under way. */
  decide(deciding: DecidingRead): void {
    if (this.#deciding !== undefined) return;
    this.#deciding = deciding;
    deciding.read(() => {
      if (this.#deciding !== deciding) return;
      this.#deciding = undefined;
      const report = deciding.report();
      if (report === undefined) return;
      const known = placeRead(report, this.#newest, deciding.fence(), this.contradiction);
      this.contradiction = undefined;
      this.isTaken(() => this.#learn(known));
    });
  }

  /** Gives the read up: the watch that it was about is closed. */
  cancelDecision(): void {
    this.#deciding = undefined;
  }

  #learn(known: Known): void {
    const placed = keepHistory(known, this.#newest);
    let past: readonly PastVersion[] | undefined;
    try {
      past = this.local?.report(placed, false);
    } catch (error) {
      // Nothing has changed, unless only the trial was refused: other replicas are to have the state, too.
      if (isRefusedTrial(error)) this.#keep(placed, undefined);
      throw error;
    }
    this.#keep(placed, past);
  }

  #keep(placed: Known, past: readonly PastVersion[] | undefined): void {
    this.#newest = withHistory(placed, this.#newest, past);
    this.#onLearned();
  }
}
