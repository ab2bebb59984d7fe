import {
  comparePositions,
  type BackplaneError,
  type FollowerSink,
  type RecordPosition,
  type StoredRecord,
} from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { Backoff } from "@bunting/runtime";
import { contradicts, isSameInEarlierEpoch, knownOf, type Known } from "./known.js";
import type { OwnerConfirmation } from "./owner-confirmation.js";
import type { ReplicatedShared } from "./replicated-shared.js";
import type { TopicHistory } from "./topic-history.js";

/** The topic that records are taken for. */
export interface FollowedTopic {
  readonly key: TopicKey;
  readonly isCurrent: boolean;
  /** Its own watch decides by a consistent read. */
  verify(): void;
  /** An owner has confirmed the newest state. */
  fresh(agoMs: number): void;
  /** It watches for itself, because what Redis tells can't be relied on. */
  goDirect(): void;
}

/**
 * What a topic takes from Redis: the records and confirmations of an owner, as far as this replica's own watch does not know better.
 * Records are taken even while nothing is followed: an owner reads them before it writes.
 */
export class TopicFollowing<Topic extends FollowedTopic> implements FollowerSink {
  readonly #topic: Topic;
  readonly #shared: ReplicatedShared<Topic>;
  readonly #history: TopicHistory;
  readonly #confirmation: OwnerConfirmation;
  readonly #repairs: RepairPace;
  #following: AbortController | undefined;

  constructor(
    topic: Topic,
    shared: ReplicatedShared<Topic>,
    history: TopicHistory,
    confirmation: OwnerConfirmation,
  ) {
    this.#topic = topic;
    this.#shared = shared;
    this.#history = history;
    this.#confirmation = confirmation;
    this.#repairs = new RepairPace(shared);
  }

  /** Follows from the newest state on, unless it does already. */
  begin(): void {
    if (this.#following !== undefined) return;
    this.#following = new AbortController();
    this.#shared.follower.follow(this.#topic.key, this, this.#following.signal, this.#history.newest);
  }

  end(): void {
    this.#following?.abort();
    this.#following = undefined;
  }

  // Called by the follower.

  /** Subscribers wait for an owner to confirm what was reported to them. */
  get isUnconfirmed(): boolean {
    return this.#history.local !== undefined && !this.#confirmation.isConfirmed;
  }

  confirmed(agoMs: number, position: RecordPosition, isAbsent = false): void {
    const known = this.#history.newest;
    if (known === undefined) return;
    const isFollower = this.#shared.lease() === undefined && this.#topic.isCurrent;
    if (isFollower && isSameInEarlierEpoch(position, known) && this.#confirmation.counts(agoMs)) {
      this.#history.moveTo(position.epoch);
      // Following starts again from the new position.
      this.end();
    }
    const order = comparePositions(position, this.#history.newest ?? known);
    if (order === 0 || (order < 0 && isAbsent && known.kind !== "document")) this.#topic.fresh(agoMs);
    // Redis has lost what it told, or what answered in its place had made that up: the own watch finds out.
    else if (order < 0) this.#topic.goDirect();
  }

  refused(error: BackplaneError): void {
    this.#shared.context.metrics.backplaneRecordRefused(error.code.toLowerCase());
    this.#topic.goDirect();
    if (this.#repairs.isDue()) this.#shared.events.onRefused(this.#topic, error);
  }

  absent(): void {
    // The owner learns from the interest of this replica that the topic is wanted, and writes it.
  }

  /** Takes a record of Redis if it is newer than the newest state. False if this replica does not accept it. */
  record(stored: StoredRecord): boolean {
    this.#repairs.reset();
    const known = knownOf(stored, this.#shared.context.clock.monotonicMs());
    const isRecent = this.#confirmation.counts(stored.confirmedAgoMs);
    this.#history.continueIn(known.epoch);
    if (this.#history.newest !== undefined && contradicts(known, this.#history.newest)) {
      this.#resolveContradiction(known);
      return false;
    }
    const order = this.#history.newest === undefined ? 1 : comparePositions(known, this.#history.newest);
    if (order <= 0) this.#history.extend(known);
    if (order < 0) return true;
    // A valid report of the own watch outweighs the record of an owner that may be gone.
    if (order > 0 && !isRecent && this.#topic.isCurrent) return false;
    if (order > 0) {
      // The first record read may have been written long ago, so its age is no lag.
      if (this.#history.newest !== undefined && isRecent)
        this.#shared.events.onFollowed(stored.confirmedAgoMs);
      if (!this.#history.take(known, !isRecent)) return true;
    }
    if (isRecent) this.#topic.fresh(stored.confirmedAgoMs);
    return true;
  }

  /** A record contradicts the newest state: the own watch decides which of the two is true. */
  #resolveContradiction(written: Known): void {
    this.#history.contradiction = written;
    if (this.#topic.isCurrent) this.#topic.verify();
    else this.#topic.goDirect();
  }
}

/** The longest wait before an owner is asked again. */
const capMs = 600_000;

/**
 * Back-off of requests to write a record again that can't be used: the first at once, later ones ever more rarely. The
 * owner's own record may be the unusable one (signed with another key, for instance), and each request costs the owner a
 * read of the API server and a write.
 */
class RepairPace {
  readonly #clock: ReplicatedShared<unknown>["context"]["clock"];
  readonly #waits: Backoff;
  #dueMs = -Infinity;

  constructor({ context, times }: Pick<ReplicatedShared<unknown>, "context" | "times">) {
    this.#clock = context.clock;
    this.#waits = new Backoff({ firstMs: times.answerMs, capMs });
  }

  /** True if a request is due; the next one is due after the next wait. */
  isDue(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#dueMs) return false;
    this.#dueMs = nowMs + this.#waits.next();
    return true;
  }

  /** A record could be used: the waits begin anew. */
  reset(): void {
    this.#dueMs = -Infinity;
    this.#waits.reset();
  }
}
