import type { TopicKey } from "@bunting/protocol";
import type { ServingContext } from "@bunting/runtime";
import type { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";
import { encodeSnapshot } from "../snapshot/encode-snapshot.js";
import { Snapshot } from "../snapshot/snapshot.js";
import type { SourceVersion } from "../source/flag-source.js";
import type { Trial } from "../source/trial.js";
import type { FanOut } from "./fan-out.js";
import type { FreshnessNotice } from "./freshness-notice.js";
import { Subscription, type MissedVersions, type SubscribedTopic, type Subscriber } from "./subscription.js";
import { TopicAcks } from "./topic-acks.js";
import type { TopicCharge } from "./topic-charge.js";
import type { TopicMemory } from "./topic-memory.js";
import { TopicSubscribers } from "./topic-subscribers.js";
import type { TopicView } from "./topic-view.js";
import { TrialNotice } from "./trial-notice.js";

/** The topic of a trial, which has the version that all others are served. */
export interface TriedTopic {
  readonly key: TopicKey;
  readonly newest: Snapshot | undefined;
  readonly freshness: FreshnessNotice | undefined;
  readonly charge: TopicCharge | undefined;
}

export interface TopicTrialOptions {
  readonly topic: TriedTopic;
  readonly trial: Trial;
  readonly version: SourceVersion;
  readonly fanOut: FanOut;
  readonly context: ServingContext<ProxyMetrics>;
  /** Called when the last subscription is gone. */
  readonly onIdle: () => void;
}

/**
 * A new version of a topic, and those of its subscribers that try it. They are subscribed here, and not at the topic, with the same kind of
 * subscription; the topic does not know of them. A trial has one version: the next one is another trial.
 */
export class TopicTrial implements SubscribedTopic {
  /** There is only one. */
  readonly sequence = 1;
  readonly takesComplaints = true;
  readonly acks: TopicAcks;
  readonly digest: string;
  /** Without the document: nobody needs it once it is encoded. */
  readonly #options: Omit<TopicTrialOptions, "trial" | "version">;
  readonly #subscribers: TopicSubscribers;
  readonly #memory: TopicMemory;
  /** Where the document is not the one that the reach is about, nobody gets it. */
  readonly #isAsNamed: boolean;
  #reach: number;
  #view: TopicView & { readonly kind: "live" };
  #hasEnded = false;
  #notice: TrialNotice;
  #counted = 0;

  /**
   * @param memory of this trial alone, which closes it
   * @throws if the document can't be encoded, or if there is no memory for it
   */
  constructor(options: TopicTrialOptions, memory: TopicMemory) {
    const { trial, version, ...others } = options;
    const { topic, context } = others;
    this.#options = others;
    this.#memory = memory;
    const bytes = encodeSnapshot(trial.document, topic.newest?.bytes);
    if (!memory.admits(bytes)) throw memory.refusal();
    memory.hold(bytes);
    this.#isAsNamed = bytes.digest === trial.digest;
    this.#reach = this.#reachOf(trial);
    this.digest = trial.digest;
    this.acks = new TopicAcks(topic.key, context.clock, context.log);
    this.#subscribers = new TopicSubscribers({
      ...options,
      charge: topic.charge,
      onConverged: () => undefined,
    });
    this.#subscribers.setWaiting(false);
    const publishedMs = context.clock.monotonicMs();
    const snapshot = new Snapshot({ topic: topic.key, sequence: this.sequence, version, publishedMs, bytes });
    this.#view = { kind: "live", snapshot, tombstone: undefined };
    this.#notice = this.#newNotice();
  }

  get view(): TopicView {
    return this.#view;
  }

  get snapshot(): Snapshot {
    return this.#view.snapshot;
  }

  get freshness(): FreshnessNotice | undefined {
    return this.#options.topic.freshness;
  }

  get notice(): TrialNotice {
    return this.#notice;
  }

  get reach(): number {
    return this.#reach;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** All subscriptions, for a walk within one turn of the event loop. */
  get subscriptions(): Iterable<Subscription> {
    return this.#subscribers.all;
  }

  /** True if the subscriber belongs here, and not to the topic. */
  takes(subscriber: Subscriber): boolean {
    const { bucket } = subscriber;
    return !this.#hasEnded && subscriber.move !== undefined && bucket !== undefined && bucket < this.#reach;
  }

  subscribe(subscriber: Subscriber): Subscription {
    const subscription = new Subscription(this, subscriber);
    this.#subscribers.add(subscription);
    this.#count();
    return subscription;
  }

  /** The object has a new version with the same document, or more or less agents are to have it. */
  update(trial: Trial, version: SourceVersion): void {
    const reach = this.#reachOf(trial);
    const isNews = reach !== this.#reach;
    this.#reach = reach;
    this.#view = { ...this.#view, snapshot: this.snapshot.at(version) };
    if (isNews) this.#notice = this.#newNotice();
  }

  /** Nobody belongs here any more; those who are here stay until they are moved. */
  end(): void {
    this.#hasEnded = true;
    this.#closeIfDone();
  }

  /** Ends the subscriptions of these subscribers: they must not be sent what comes next. */
  refuse(error: ProxyError, isSpared?: (subscriber: Subscriber) => boolean): void {
    const sizeBefore = this.size;
    this.#subscribers.refuse(error, isSpared);
    this.#count();
    if (sizeBefore > 0 && this.size === 0) this.#idle();
  }

  wakeForFreshness(): void {
    this.#subscribers.wakeForFreshness();
  }

  // Called by subscriptions.

  missedSince(sequence: number): MissedVersions | undefined {
    if (sequence >= this.sequence) return undefined;
    return { topic: this.#options.topic.key, sinceMs: this.snapshot.publishedMs, count: 1 };
  }

  leave(subscription: Subscription): void {
    this.#subscribers.delete(subscription, false);
    this.#count();
    if (this.size === 0) this.#idle();
  }

  caughtUp(): void {
    // How long a wave takes is not measured here: the next one waits for it.
  }

  conflated(): void {
    // There is one version.
  }

  #reachOf({ reach }: Trial): number {
    return this.#isAsNamed ? reach : 0;
  }

  #count(): void {
    this.#options.context.metrics.trialSubscribers(this.size - this.#counted);
    this.#counted = this.size;
  }

  #newNotice(): TrialNotice {
    return new TrialNotice(this.#options.topic.key, { snapshot: this.snapshot, reach: this.#reach });
  }

  #idle(): void {
    this.#closeIfDone();
    this.#options.onIdle();
  }

  #closeIfDone(): void {
    if (!this.#hasEnded || this.size > 0) return;
    this.acks.close();
    this.#memory.close();
  }
}
