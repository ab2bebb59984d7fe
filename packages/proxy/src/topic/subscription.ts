import type { Identity } from "@bunting/identity";
import type { TopicKey, TrialCounts } from "@bunting/protocol";
import type { TransportSession } from "@bunting/rpc";
import type { ProxyError } from "../proxy-error.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import type { FreshnessNotice } from "./freshness-notice.js";
import type { TopicAcks } from "./topic-acks.js";
import { startingView, type TopicView } from "./topic-view.js";
import type { TrialNotice } from "./trial-notice.js";

/** The receiver of a subscription. Its methods return at once and do not throw. */
export interface Subscriber {
  /** The topic is charged to this connection. */
  readonly connection?: TransportSession;
  /**
   * True if the protocol has tombstones: the subscriber is then woken for them as for snapshots. The deletion policy `close`
   * ends other subscribers.
   */
  readonly readsTombstones?: boolean;
  /** True for who is told whether the source is stale: it is woken when that changes. */
  readonly readsFreshness?: boolean;
  /** Name that the program gives itself, if the protocol has one. */
  readonly program?: string | undefined;
  /**
   * Digest of the version that the subscriber has acknowledged, if the protocol has acks; empty if none. If the subscriber has not answered in
   * time, the one before: it most likely still has that.
   */
  readonly lastDigest?: string;
  /** Who the caller is; undefined if it is anonymous. */
  readonly identity?: Identity | undefined;
  /** Of another proxy whose agents try versions: it is woken when that changes. What it has said last of how a version fares with them. */
  readonly trials?: { readonly report: TrialCounts | undefined } | undefined;
  /** Place among the agents of the topic, by which some get a new version before others. Undefined for who gets versions that all are to have. */
  readonly bucket?: number | undefined;
  /** The view may have changed: look at it now, or when the write under way is done. */
  wake(): void;
  /** The topic ends this subscription; there is nothing to take any more. */
  refuse(error: ProxyError): void;
  /** Takes another subscription to the same topic in place of the one that it has. Who has none stays where it is. */
  move?(to: Subscription): void;
}

/** The versions that a subscriber does not have. */
export interface MissedVersions {
  readonly topic: TopicKey;
  /** When the first of them was published, on the monotonic clock. */
  readonly sinceMs: number;
  readonly count: number;
}

/** The topic, as far as a subscription needs it. */
export interface SubscribedTopic {
  readonly view: TopicView;
  /** Whether the source can be followed; undefined if it always could. */
  readonly freshness?: FreshnessNotice | undefined;
  /** A newer version, which some are to try; undefined while there is none. */
  readonly trial?: { readonly notice: TrialNotice } | undefined;
  /** What agents find of the version once they have it counts as well. */
  readonly takesComplaints?: boolean;
  /** The sequence of the newest snapshot. */
  readonly sequence: number;
  readonly acks: TopicAcks;
  /** The versions after this one; undefined if there are none. */
  missedSince(sequence: number): MissedVersions | undefined;
  leave(subscription: Subscription): void;
  caughtUp(): void;
  conflated(snapshots: number): void;
}

/**
 * One subscriber's cursor at a topic. There is no queue and no snapshot in it, only the digest of the one taken last; the
 * next one is always the topic's newest at that moment. Every subscriber, however slow, ends at the newest, at the same
 * cost.
 *
 * Three things happen to a snapshot: it is `due` until it is taken, taken when it is about to be sent (an edit that is reverted
 * while it is being written has to be sent again), and settled once it has arrived and there is none newer.
 */
export class Subscription {
  readonly subscriber: Subscriber;
  #topic: SubscribedTopic | undefined;
  #takenDigest = "";
  #takenSequence = 0;
  /** Sequence up to which the subscriber is complete; at first that of its subscription. */
  #settledSequence: number;

  constructor(topic: SubscribedTopic, subscriber: Subscriber) {
    this.#topic = topic;
    this.subscriber = subscriber;
    this.#settledSequence = topic.sequence;
  }

  /** Undefined after the end. */
  get topic(): SubscribedTopic | undefined {
    return this.#topic;
  }

  /** The topic's present view, taken or not; empty after the end. */
  get view(): TopicView {
    return this.#topic?.view ?? startingView;
  }

  /** Whether the topic's source can be followed; undefined if it always could. */
  get freshness(): FreshnessNotice | undefined {
    return this.#topic?.freshness;
  }

  /** Of the version that agents of other proxies are to try; undefined without one. */
  get trialNotice(): TrialNotice | undefined {
    return this.#topic?.trial?.notice;
  }

  get takesComplaints(): boolean {
    return this.#topic?.takesComplaints === true;
  }

  /** Receives the acks, for protocols that have them. */
  get acks(): TopicAcks | undefined {
    return this.#topic?.acks;
  }

  get settledSequence(): number {
    return this.#settledSequence;
  }

  /** The versions that the subscriber does not have; undefined if it has the newest. */
  get missed(): MissedVersions | undefined {
    return this.#topic?.missedSince(this.#settledSequence);
  }

  /** True if the subscriber has written this version or a later one, or subscribed later. */
  hasSettled(sequence: number): boolean {
    return this.#settledSequence >= sequence;
  }

  /** The newest snapshot, if it differs from the one taken last. */
  get due(): Snapshot | undefined {
    const newest = this.#topic?.view.snapshot;
    return newest?.digest === this.#takenDigest ? undefined : newest;
  }

  /** Counts a snapshot as taken. Those between it and the one taken before are conflated. */
  take({ digest, sequence }: Snapshot): void {
    const conflated = sequence - this.#takenSequence - 1;
    if (this.#takenSequence > 0 && conflated > 0) this.#topic?.conflated(conflated);
    this.#takenDigest = digest;
    this.#takenSequence = sequence;
  }

  /** The subscriber has received what it took last: if that is the newest, the subscriber is complete. */
  settle(): void {
    const newest = this.#topic?.view.snapshot;
    if (newest?.digest !== this.#takenDigest) return;
    this.take(newest);
    if (this.hasSettled(newest.sequence)) return;
    this.#settledSequence = newest.sequence;
    this.#topic?.caughtUp();
  }

  /** Makes the newest snapshot due even if it was taken already, because it did not arrive or is no longer valid. */
  retake(): void {
    this.#takenDigest = "";
  }

  /** Counts the newest snapshot as received, because a tombstone replaces it. */
  skip(): void {
    const newest = this.#topic?.view.snapshot;
    if (newest !== undefined) this.take(newest);
    this.settle();
  }

  /** Leaves the topic. May be called at any time, and again. */
  close(): void {
    const topic = this.#topic;
    this.#topic = undefined;
    topic?.leave(this);
  }

  /** Called by the topic after it has removed the subscription from its list. */
  detach(): void {
    this.#topic = undefined;
  }
}
