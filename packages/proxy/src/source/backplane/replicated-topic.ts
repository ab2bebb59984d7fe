import {
  comparePositions,
  type BackplaneError,
  type FollowerSink,
  type RecordPosition,
  type StoredRecord,
} from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { ProxyError } from "../../proxy-error.js";
import type { SourceSink } from "../flag-source.js";
import { Freshness } from "./freshness.js";
import { keepHistory, withHistory, withHistoryThrough } from "./known-history.js";
import { InnerWatch } from "./inner-watch.js";
import {
  contradicts,
  isSameInEarlierEpoch,
  knownOf,
  place,
  placeRead,
  type Known,
  type Said,
} from "./known.js";
import { LocalSink } from "./local-sink.js";
import { RepairPace } from "./repair-pace.js";
import type { Ownership, ReplicatedShared } from "./replicated-shared.js";

/**
 * One topic on this replica. It may be watched (by the source) and followed (in Redis) at the same time, while one takes over from the other: what
 * both say is put into one history, and told only where that goes forward.
 */
export class ReplicatedTopic implements FollowerSink {
  readonly key: TopicKey;
  readonly unit: Ownership;
  /** While a write is under way or waits, what is known may be written once more. */
  isDirty = false;
  isWriting = false;
  /** The number of the lease under which what Redis holds was compared with what is known. */
  basedOn: number | undefined;
  /** Another replica waits for what this one reads: it is announced even if Redis holds the same. */
  isAsked = false;
  /** Another replica has mentioned it. */
  isWantedElsewhere = false;
  readonly #shared: ReplicatedShared<ReplicatedTopic>;
  #local: LocalSink | undefined;
  #newest: Known | undefined;
  #watch: InnerWatch | undefined;
  #following: AbortController | undefined;
  /** This replica watches it although it does not own it, until an owner's confirmation is seen. */
  #isDirect = false;
  readonly #freshness: Freshness;
  readonly #repairs: RepairPace;
  #refreshes = 0;
  /** A consistent read is under way, to find out whether a contradiction is one. */
  #isVerifying = false;
  /** What Redis holds contradicts what was known, and has to come before what a consistent read shows. */
  #doubted: Known | undefined;

  constructor(key: TopicKey, unit: Ownership, shared: ReplicatedShared<ReplicatedTopic>) {
    this.key = key;
    this.unit = unit;
    this.#shared = shared;
    this.#freshness = new Freshness(shared);
    this.#repairs = new RepairPace(shared);
  }

  get hasSubscribers(): boolean {
    return this.#local !== undefined;
  }

  get isWatched(): boolean {
    return this.#watch !== undefined;
  }

  /** Its watch knows what it is, and that is in its history. */
  get isCurrent(): boolean {
    return this.#watch?.isCurrent === true && !this.#isVerifying;
  }

  /** Its watch can't read it, for a reason that is not in the document itself. */
  get isBlind(): boolean {
    const reason = this.#watch?.staleReason;
    return reason !== undefined && !(reason instanceof ProxyError && reason.code === "DOCUMENT_INVALID");
  }

  /** Its subscribers wait for an owner to confirm what they were told. */
  get isUnconfirmed(): boolean {
    return this.#local !== undefined && !this.#freshness.isConfirmed;
  }

  get isDirect(): boolean {
    return this.#isDirect && this.#local !== undefined;
  }

  /** What an owner has to write; undefined if its watch does not know. */
  get current(): Known | undefined {
    return this.isCurrent ? this.#newest : undefined;
  }

  /** Nobody needs it: it can be forgotten. */
  get isIdle(): boolean {
    return this.#local === undefined && !this.isWantedElsewhere && this.#refreshes === 0;
  }

  attach(sink: SourceSink, asker: unknown): void {
    const local = new LocalSink(sink, asker);
    this.#local = local;
    this.#freshness.asked();
    // Sinks are never called from within `watch`.
    queueMicrotask(() => {
      if (this.#local !== local || this.#watch === undefined) return;
      const { said, staleReason } = this.#watch;
      if (said !== undefined && this.#newest !== undefined && !this.#isVerifying)
        local.tell(this.#newest, false);
      if (staleReason !== undefined) local.stale(staleReason);
    });
    this.settle();
  }

  detach(): void {
    this.#local = undefined;
    this.#isDirect = false;
    this.settle();
  }

  /** This replica has lost the lease, or given it up: what it confirmed itself does not count as another owner's confirmation. */
  distrust(): void {
    this.basedOn = undefined;
    this.#freshness.distrust();
  }

  /** Opens and closes its watch, and following it, as is right now. */
  settle(): void {
    const { isRelied } = this.#shared;
    const isLocal = this.#local !== undefined;
    const isOwned = this.unit.lease !== undefined && (isLocal || this.isWantedElsewhere);
    const isWarmed = this.unit.isWarming && (isLocal || this.isWantedElsewhere);
    const isNeeded = isOwned || isWarmed || (isLocal && !isRelied()) || this.#refreshes > 0;
    // Make before break: a watch that is open stays until an owner is seen.
    if (isLocal && !isNeeded && this.#watch !== undefined && !this.#freshness.isFresh) this.#isDirect = true;
    if (isOwned || !isRelied()) this.#isDirect = false;
    if (isNeeded || this.#isDirect) this.#open();
    else this.#close();
    if (isLocal && isRelied() && !(isOwned && this.isCurrent)) this.#follow();
    else this.#unfollow();
  }

  /** Watches it here if no owner has confirmed it lately, and tells if that does not help. */
  expire(): void {
    const local = this.#local;
    if (local === undefined || this.#freshness.isFresh) return;
    if (!this.#shared.isRelied() || this.unit.lease !== undefined) return;
    if (!this.#isDirect) this.#goDirect();
    const reason = this.#watch?.staleReason;
    if (reason !== undefined && !local.isStale) local.stale(reason);
  }

  close(): void {
    this.#local = undefined;
    this.#unfollow();
    this.#close();
  }

  /** Reads it consistently by its own watch, which is opened for that if need be. Returns how to wait no longer. */
  refresh(done: () => void, asker: unknown): () => void {
    const { source } = this.#shared;
    this.#refreshes++;
    this.settle();
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.#refreshes--;
      this.settle();
    };
    const finish = (): void => {
      if (isOver) return;
      end();
      done();
    };
    const cancel = source.refresh?.(this.key, finish, asker);
    if (cancel === undefined) queueMicrotask(finish);
    return () => {
      cancel?.();
      end();
    };
  }

  confirmed(agoMs: number, position: RecordPosition): void {
    const known = this.#newest;
    if (known === undefined) return;
    const isFollower = this.unit.lease === undefined && this.isCurrent;
    if (isFollower && isSameInEarlierEpoch(position, known) && this.#freshness.counts(agoMs)) {
      this.#newest = { ...known, epoch: position.epoch };
      this.#local?.moved(position);
      // It is followed from there.
      this.#unfollow();
    }
    // Not of what is known, if this replica knows more, or doubts what Redis holds.
    if (this.#newest !== undefined && comparePositions(position, this.#newest) === 0) this.#fresh(agoMs);
  }

  refused(error: BackplaneError): void {
    this.#shared.metrics.backplaneRecordRefused(error.code);
    this.#goDirect();
    if (this.#repairs.isDue()) this.#shared.onRefused(this, error);
  }

  absent(): void {
    // An owner that sees it wanted writes what it is.
  }

  /** Takes what Redis holds, if it is newer than what is known. */
  record(stored: StoredRecord): boolean {
    this.#repairs.reset();
    const known = knownOf(stored, this.#shared.clock.monotonicMs());
    const isRecent = this.#freshness.counts(stored.confirmedAgoMs);
    // What was known without Redis is in no epoch: it goes on in the one that Redis has.
    if (this.#newest?.epoch === 0) this.#newest = { ...this.#newest, epoch: known.epoch };
    if (this.#newest !== undefined && contradicts(known, this.#newest)) {
      this.#doubt(known);
      return false;
    }
    const order = this.#newest === undefined ? 1 : comparePositions(known, this.#newest);
    if (order <= 0) this.#takeHistory(known);
    if (order < 0) return true;
    // The watch of this replica knows better than an owner that may be gone.
    if (order > 0 && !isRecent && this.isCurrent) return false;
    if (order > 0) {
      // What is read first may have been written long ago.
      if (this.#newest !== undefined && isRecent) this.#shared.onFollowed(stored.confirmedAgoMs);
      this.#newest = known;
      if (!this.#isTaken(() => this.#local?.tell(known, !isRecent))) return true;
    }
    if (isRecent) this.#fresh(stored.confirmedAgoMs);
    return true;
  }

  /** Redis holds nothing of it: what is known begins an epoch, so that followers that know older epochs take it. */
  anchor(fence: number): void {
    if (this.#newest !== undefined && this.#newest.epoch < fence)
      this.#newest = { ...this.#newest, epoch: fence };
  }

  /** Takes what Redis holds as the history in which what the watch says has its place. */
  rebase(stored: StoredRecord): void {
    const wasTaken = this.record(stored);
    const said = this.#watch?.said;
    if (said === undefined || this.#watch?.isCurrent !== true) return;
    const known = knownOf(stored, this.#shared.clock.monotonicMs());
    // History goes on from there even if nobody has confirmed it lately: Redis refuses what has an earlier place.
    if (!wasTaken && !this.#isVerifying && this.#newest !== undefined)
      this.#newest = comparePositions(known, this.#newest) > 0 ? known : this.#newest;
    this.#isTaken(() => this.#place(said));
  }

  #place(said: Said): void {
    const before = this.#newest;
    const known = place(said, before, this.unit.lease?.fence ?? 0);
    if (known !== undefined) this.#learn(known);
    else if (before !== undefined) this.#verify();
  }

  #learn(known: Known): void {
    // The sink may refuse it; then nothing has happened.
    const placed = keepHistory(known, this.#newest);
    this.#newest = withHistory(placed, this.#newest, this.#local?.tell(placed, false));
    this.#shared.onAnswered(this);
  }

  /** Redis holds what was known, or what came before it: who comes from there may hold what this replica has not seen. */
  #takeHistory(stored: Known): void {
    const newest = withHistoryThrough(stored, this.#newest);
    if (newest === undefined) return;
    this.#newest = newest;
    // What is stale is told with its history once it is not.
    if (this.#local?.isStale === false) this.#isTaken(() => this.#local?.tell(newest, false));
  }

  /** Finds out by a watch of its own what is true. */
  #doubt(written: Known): void {
    this.#doubted = written;
    if (this.isCurrent) this.#verify();
    else this.#goDirect();
  }

  /** Reads consistently before it believes that what was known is no longer true. */
  #verify(): void {
    const { source } = this.#shared;
    if (this.#isVerifying) return;
    this.#isVerifying = true;
    const watch = this.#watch;
    const done = (): void => {
      if (watch !== this.#watch) return;
      this.#isVerifying = false;
      const said = watch?.said;
      if (said === undefined) return;
      const known = placeRead(said, this.#newest, this.unit.lease?.fence ?? 0, this.#doubted);
      this.#doubted = undefined;
      this.#isTaken(() => this.#learn(known));
    };
    if (source.refresh === undefined) queueMicrotask(done);
    else source.refresh(this.key, done, this.#local?.asker);
  }

  /** Tells the sink something. False if the sink refuses it: a document that this replica can't encode. */
  #isTaken(tell: () => void): boolean {
    try {
      tell();
      return true;
    } catch (error) {
      this.#local?.stale(error as Error);
      return false;
    }
  }

  /** An owner has confirmed what is known. */
  #fresh(agoMs: number): void {
    if (!this.#freshness.confirmed(agoMs)) return;
    const [local, newest] = [this.#local, this.#newest];
    if (local?.isStale === true && newest !== undefined && !this.#isTaken(() => local.tell(newest, false)))
      return;
    this.#isDirect = false;
    this.settle();
  }

  #goDirect(): void {
    if (this.#local === undefined) return;
    this.#freshness.doubt();
    this.#isDirect = true;
    this.settle();
  }

  #open(): void {
    if (this.#watch !== undefined) return;
    const { source, clock } = this.#shared;
    const watch = new InnerWatch({
      source,
      topic: this.key,
      asker: this.#local?.asker ?? this.unit,
      nowMs: () => clock.monotonicMs(),
      onSaid: (said) => {
        this.#place(said);
        this.settle();
      },
      onStale: (reason) => this.#watchIsStale(reason),
    });
    this.#watch = watch;
    watch.open();
  }

  #watchIsStale(reason: Error): void {
    if (this.unit.lease !== undefined || !this.#freshness.isFresh || !this.#shared.isRelied())
      this.#local?.stale(reason);
    this.#shared.onStale(this);
    this.settle();
  }

  #close(): void {
    this.#watch?.close();
    this.#watch = undefined;
    this.#isVerifying = false;
    this.basedOn = undefined;
  }

  #follow(): void {
    if (this.#following !== undefined) return;
    this.#following = new AbortController();
    this.#shared.follower.follow(this.key, this, this.#following.signal, this.#newest);
  }

  #unfollow(): void {
    this.#following?.abort();
    this.#following = undefined;
  }
}
