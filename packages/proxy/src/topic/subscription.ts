import type { ProxyError } from "../proxy-error.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import type { Absence } from "./tombstone.js";
import type { TopicAcks } from "./topic-acks.js";

/** Who is served by a subscription. Its methods return at once and do not throw. */
export interface Subscriber {
  /**
   * True if its protocol has words for a document that is not there: it is then woken, and reads them from its subscription, where others
   * are ended by the deletion policy `close`, or are served a document without flags.
   */
  readonly isToldOfAbsence?: boolean;
  /** There may be something newer: take it now, or when the write under way is done. */
  wake(): void;
  /** The topic ends this subscription; there is nothing to take any more. */
  refuse(error: ProxyError): void;
}

/** What a subscription needs of its topic. */
export interface SubscribedTopic {
  readonly newest: Snapshot | undefined;
  readonly sequence: number;
  readonly absence: Absence | undefined;
  readonly isOfDeleted: boolean;
  readonly acks: TopicAcks;
  leave(subscription: Subscription): void;
  caughtUp(): void;
  conflated(snapshots: number): void;
}

/**
 * One subscriber's place at a topic: a single slot. It holds no queue and not even a snapshot, only what the subscriber was given last;
 * what it gives next is always the topic's newest at that moment. So a subscriber, however slow, ends at the newest, and costs the
 * same. Given is given: what is still being written counts, or an edit taken back meanwhile would be lost.
 */
export class Subscription {
  readonly subscriber: Subscriber;
  /** Links of the SubscriptionList it is in; nobody else's business. */
  next: Subscription | undefined;
  previous: Subscription | undefined;
  #topic: SubscribedTopic | undefined;
  #givenDigest = "";
  #givenSequence = 0;
  /** The version up to which this subscriber has all it is owed; the one it came at, to begin with. */
  #settledSequence: number;

  constructor(topic: SubscribedTopic, subscriber: Subscriber) {
    this.#topic = topic;
    this.subscriber = subscriber;
    this.#settledSequence = topic.sequence;
  }

  /** True if the subscriber has written all it was owed of this version, or came later. */
  hasSettled(sequence: number): boolean {
    return this.#settledSequence >= sequence;
  }

  /** What there is to serve, taken or not; undefined also after the end. */
  get newest(): Snapshot | undefined {
    return this.#topic?.newest;
  }

  /** That there is no document, for those who are told so. */
  get absence(): Absence | undefined {
    return this.#topic?.absence;
  }

  /** True if what there is to serve is what there was before the document was deleted. */
  get isOfDeleted(): boolean {
    return this.#topic?.isOfDeleted ?? false;
  }

  /** Where subscribers whose protocol has answers leave them. */
  get acks(): TopicAcks | undefined {
    return this.#topic?.acks;
  }

  /**
   * The newest snapshot if it differs from the one given last; it then counts as given. To be called only when the one given
   * last has been written, or there was none.
   */
  take(): Snapshot | undefined {
    const topic = this.#topic;
    const newest = topic?.newest;
    if (topic === undefined || newest === undefined) return undefined;
    const isSame = newest.digest === this.#givenDigest;
    const passedOver = newest.sequence - this.#givenSequence - 1;
    if (this.#givenSequence > 0 && passedOver > 0) topic.conflated(passedOver);
    this.#givenDigest = newest.digest;
    this.#givenSequence = newest.sequence;
    if (!isSame) return newest;
    if (this.#settledSequence < newest.sequence) {
      this.#settledSequence = newest.sequence;
      topic.caughtUp();
    }
    return undefined;
  }

  /** What was given last did not arrive: `take` gives the newest again, also if it is the same. */
  forget(): void {
    this.#givenDigest = "";
  }

  /** The subscriber needs no snapshot to have what the newest says: it was told in other words. */
  pass(): void {
    if (this.take() !== undefined) this.take();
  }

  /** Called by the topic when what it published so far counts for nothing. */
  excuse(): void {
    this.#settledSequence = this.#topic?.sequence ?? this.#settledSequence;
  }

  /** Leaves the topic. May be called at any time, and again. */
  close(): void {
    const topic = this.#topic;
    this.#topic = undefined;
    topic?.leave(this);
  }

  /** Called by the topic when it ends the subscription: there is nobody left to leave. */
  detach(): void {
    this.#topic = undefined;
  }
}
