import type { TransportSession } from "@bunting/rpc";
import type { ProxyError } from "../proxy-error.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import type { TopicAcks } from "./topic-acks.js";
import { startingView, type TopicView } from "./topic-view.js";

/** The receiver of a subscription. Its methods return at once and do not throw. */
export interface Subscriber {
  /** The topic is charged to this connection. */
  readonly connection?: TransportSession;
  /**
   * True if its protocol can say that a document does not exist: it is then woken for tombstones as for snapshots. The deletion policy
   * `close` ends other subscribers.
   */
  readonly readsTombstones?: boolean;
  /** True for another proxy, which is told whether the source can be followed. */
  readonly readsFreshness?: boolean;
  /** How the program names itself, if its protocol says so. */
  readonly program?: string | undefined;
  /** Digest of what it says it holds, if its protocol says so; empty if nothing. */
  readonly currentDigest?: string;
  /** The view may have changed: look at it now, or when the write under way is done. */
  wake(): void;
  /** The topic ends this subscription; there is nothing to take any more. */
  refuse(error: ProxyError): void;
}

/** What a subscription needs of its topic. */
export interface SubscribedTopic {
  readonly view: TopicView;
  /** Why the source can't be followed for now; undefined if it can. */
  readonly staleReason?: Error | undefined;
  /** The sequence of the newest snapshot. */
  readonly sequence: number;
  readonly acks: TopicAcks;
  leave(subscription: Subscription): void;
  caughtUp(): void;
  conflated(snapshots: number): void;
}

/**
 * One subscriber's place at a topic: a single slot. It has no queue and does not even hold a snapshot, only which one the subscriber took
 * last; the next one is always the topic's newest at that moment. So a subscriber, however slow, ends at the newest, and costs the same. A
 * snapshot counts as taken as soon as it is handed out: an edit that is reverted while it is being written has to be sent again.
 */
export class Subscription {
  readonly subscriber: Subscriber;
  /** Links of the SubscriptionList it is in, for that list only. */
  next: Subscription | undefined;
  previous: Subscription | undefined;
  #topic: SubscribedTopic | undefined;
  #takenDigest = "";
  #takenSequence = 0;
  /** The version up to which this subscriber has received all it should; to begin with, the one at which it subscribed. */
  #settledSequence: number;

  constructor(topic: SubscribedTopic, subscriber: Subscriber) {
    this.#topic = topic;
    this.subscriber = subscriber;
    this.#settledSequence = topic.sequence;
  }

  /** What the topic has at the moment, taken or not. After the end there is nothing. */
  get view(): TopicView {
    return this.#topic?.view ?? startingView;
  }

  /** Why the source can't be followed for now; undefined if it can. */
  get staleReason(): Error | undefined {
    return this.#topic?.staleReason;
  }

  /** Where subscribers whose protocol has acks report them. */
  get acks(): TopicAcks | undefined {
    return this.#topic?.acks;
  }

  get settledSequence(): number {
    return this.#settledSequence;
  }

  /** True if the subscriber has written this version, or one in its place, or subscribed later. */
  hasSettled(sequence: number): boolean {
    return this.#settledSequence >= sequence;
  }

  /** What `take` would return. */
  get due(): Snapshot | undefined {
    const newest = this.#topic?.view.snapshot;
    return newest?.digest === this.#takenDigest ? undefined : newest;
  }

  /**
   * The newest snapshot if it differs from the one taken last; it then counts as taken. To be called only when the one taken last has been
   * written, or there was none.
   */
  take(): Snapshot | undefined {
    const topic = this.#topic;
    const newest = topic?.view.snapshot;
    if (topic === undefined || newest === undefined) return undefined;
    const isSame = newest.digest === this.#takenDigest;
    this.#advance(topic, newest);
    if (!isSame) return newest;
    this.#settle(topic, newest.sequence);
    return undefined;
  }

  /** The subscriber needs the newest snapshot again, also if it is the one it took last: that did not arrive, or no longer counts. */
  retake(): void {
    this.#takenDigest = "";
  }

  /** The subscriber does not need the newest snapshot: a tombstone said the same. */
  skip(): void {
    const topic = this.#topic;
    const newest = topic?.view.snapshot;
    if (topic === undefined || newest === undefined) return;
    this.#advance(topic, newest);
    this.#settle(topic, newest.sequence);
  }

  /** Leaves the topic. May be called at any time, and again. */
  close(): void {
    const topic = this.#topic;
    this.#topic = undefined;
    topic?.leave(this);
  }

  /** Called by the topic when it ends the subscription, which is then not in its list any more. */
  detach(): void {
    this.#topic = undefined;
  }

  #advance(topic: SubscribedTopic, { digest, sequence }: Snapshot): void {
    const conflated = sequence - this.#takenSequence - 1;
    if (this.#takenSequence > 0 && conflated > 0) topic.conflated(conflated);
    this.#takenDigest = digest;
    this.#takenSequence = sequence;
  }

  #settle(topic: SubscribedTopic, sequence: number): void {
    if (this.#settledSequence >= sequence) return;
    this.#settledSequence = sequence;
    topic.caughtUp();
  }
}
