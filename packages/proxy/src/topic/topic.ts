import { emptyFlagDocument, type FlagDocument, type TopicKey } from "@bunting/protocol";
import type { Clock, Logger } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";
import { encodeSnapshot } from "../snapshot/encode-snapshot.js";
import { Snapshot } from "../snapshot/snapshot.js";
import type { SourceSink, SourceVersion } from "../source/flag-source.js";
import { absenceIn, type Absence, type DeletionPolicy } from "./tombstone.js";
import { Broadcast } from "./broadcast.js";
import type { FanOut } from "./fan-out.js";
import { Convergence, type ConvergenceState } from "./convergence.js";
import { SubscriptionList } from "./subscription-list.js";
import { Subscription, type SubscribedTopic, type Subscriber } from "./subscription.js";
import { TopicAcks } from "./topic-acks.js";
import {
  deletedInGrace,
  deletionSettled,
  isAbsent,
  live,
  missing,
  served,
  stale,
  standing,
  starting,
  type TopicState,
} from "./topic-state.js";

export interface TopicPolicies {
  /** What subscribers of a document that does not exist get: `hold` keeps them waiting, `fail` ends them with TOPIC_MISSING. */
  readonly missingPolicy: "hold" | "fail";
  /** How long a deleted document is served as it was, to everyone, before the deletion policy counts. */
  readonly deletionGraceMs: number;
  /** `keep` serves the last snapshot on, `empty` a document without flags, `close` ends all with TOPIC_DELETED. */
  readonly deletionPolicy: DeletionPolicy;
}

export interface TopicOptions extends TopicPolicies {
  readonly key: TopicKey;
  readonly fanOut: FanOut;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ProxyMetrics;
  /** Called when the last subscription is gone. */
  readonly onIdle: () => void;
}

/** What most gRPC clients accept at most unless they are told otherwise. */
const clientReceiveLimitBytes = 4 * 1024 * 1024;

/**
 * What subscribers of one document share: its state, its newest snapshot, and they themselves. The source drives it through the
 * SourceSink methods. Only the newest counts: an older snapshot is dropped the moment there is a newer one, whoever was not given
 * it yet, so that memory is bounded by the documents, not by the subscribers.
 */
export class Topic implements SourceSink, SubscribedTopic {
  readonly key: TopicKey;
  /** What agents that can say so hold and refuse. */
  readonly acks: TopicAcks;
  readonly #options: TopicOptions;
  readonly #subscriptions = new SubscriptionList();
  readonly #broadcast: Broadcast;
  readonly #convergence: Convergence;
  #state: TopicState = starting();
  #absence: Absence | undefined;
  #isClosed = false;
  #sequence = 0;
  #cancelGrace: (() => void) | undefined;
  #held = 0;

  constructor(options: TopicOptions) {
    this.key = options.key;
    this.#options = options;
    this.acks = new TopicAcks(options.key, options.clock, options.logger);
    this.#broadcast = new Broadcast(this.#subscriptions, options.fanOut);
    this.#convergence = new Convergence(options.clock, options.metrics, (state) => this.#logConverged(state));
    options.metrics.topics(this.#state.kind, 1);
  }

  get state(): TopicState {
    return this.#state;
  }

  /** Subscriptions at the moment. */
  get size(): number {
    return this.#subscriptions.size;
  }

  /** What everyone is served; undefined while there is nothing to serve. */
  get newest(): Snapshot | undefined {
    return served(this.#state);
  }

  /** That there is no document, once that is settled; for subscribers that are told so. */
  get absence(): Absence | undefined {
    return this.#absence;
  }

  /** True if the document was deleted, whatever is served in its place. */
  get isOfDeleted(): boolean {
    return standing(this.#state).kind === "deleted";
  }

  /** The number of snapshots published so far: the sequence of the last one. */
  get sequence(): number {
    return this.#sequence;
  }

  /** How far the newest snapshot has got. */
  get convergence(): ConvergenceState {
    return this.#convergence;
  }

  /** True while a deleted document is still served as it was: a topic in grace is not to be dropped. */
  get isInGrace(): boolean {
    return this.#cancelGrace !== undefined;
  }

  /**
   * Joins a subscriber. What it gets first, and that nothing is lost or comes twice, rests on these steps being one turn of the event loop:
   *
   * 1. Where the document is absent and the policy is `fail`, it does not get in.
   * 2. It is in the list: from here on every publish wakes it, also one whose pass is under way.
   * 3. The caller takes from the subscription it gets: the newest snapshot if there is one. It then counts as given, so that a pass
   *    that comes by later finds nothing to do.
   * 4. If there was none, it is held: the first publish wakes it.
   *
   * @throws ProxyError TOPIC_MISSING by step 1.
   */
  subscribe(subscriber: Subscriber): Subscription {
    if (isAbsent(this.#state) && this.#options.missingPolicy === "fail") throw this.#missingError();
    const subscription = new Subscription(this, subscriber);
    this.#subscriptions.add(subscription);
    this.#countHeld();
    return subscription;
  }

  // What the source tells.

  document(document: FlagDocument, version: SourceVersion): void {
    if (this.#isClosed) return;
    this.#endGrace();
    const { newest } = this;
    const bytes = encodeSnapshot(document, newest?.bytes);
    // An equal document is not news, but the object it is of may be: a metadata edit, or a re-created FeatureFlag.
    const isNews = newest?.digest !== bytes.digest;
    this.#setState(live(isNews ? this.#nextSnapshot(bytes, version) : newest.at(version)));
  }

  missing(): void {
    if (this.#isClosed) return;
    const told = standing(this.#state);
    if (told.kind === "starting") this.#setState(missing());
    // Else the source forgot that it had it. This topic did not.
    else this.deleted();
  }

  deleted(): void {
    if (this.#isClosed) return;
    const told = standing(this.#state);
    if (told.kind === "missing" || told.kind === "deleted") {
      this.#setState(told);
      return;
    }
    const { clock, logger, deletionGraceMs, deletionPolicy } = this.#options;
    logger.info({ topic: this.key, deletionGraceMs, deletionPolicy }, "the FeatureFlag was deleted");
    this.#cancelGrace = clock.after(deletionGraceMs, () => this.#settleDeletion());
    this.#setState(deletedInGrace(served(told)));
  }

  stale(reason: Error): void {
    if (this.#isClosed) return;
    // The source has told the log; this is said for each of its topics.
    this.#options.logger.debug({ topic: this.key, error: reason }, "What the source told last is served on");
    this.#setState(stale(this.#state, reason));
  }

  // What the registry tells.

  /** Ends the topic: the source is not heard any more, and whoever is still subscribed is refused. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#endGrace();
    this.#refuseAll(new ProxyError("SHUTTING_DOWN", "the proxy is shutting down; connect again"));
    this.acks.close();
    this.#options.metrics.topics(this.#state.kind, -1);
  }

  // What subscriptions tell.

  leave(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
    this.#countHeld();
    if (!subscription.hasSettled(this.#sequence)) this.#convergence.leave();
    if (this.size === 0) this.#options.onIdle();
  }

  caughtUp(): void {
    this.#convergence.caughtUp();
  }

  conflated(snapshots: number): void {
    this.#options.metrics.conflated(snapshots);
  }

  /** The only place where the state changes, and with it what subscribers are served. */
  #setState(next: TopicState): void {
    const { metrics, missingPolicy, deletionPolicy } = this.#options;
    const before = this.#state;
    const absenceBefore = this.#absence;
    this.#state = next;
    this.#absence = absenceIn(next, this.key, deletionPolicy, absenceBefore);
    if (next.kind !== before.kind) {
      metrics.topics(before.kind, -1);
      metrics.topics(next.kind, 1);
    }
    const newest = served(next);
    if (newest !== undefined && newest.sequence !== served(before)?.sequence) this.#publish(newest);
    if (isAbsent(next)) {
      if (!isAbsent(before)) this.#logMissing();
      if (missingPolicy === "fail") this.#refuseAll(this.#missingError());
    }
    if (this.#absence !== absenceBefore) this.#broadcast.publish();
    this.#countHeld();
  }

  #publish(snapshot: Snapshot): void {
    const { metrics, logger } = this.#options;
    const bytes = snapshot.syncFrame.length;
    metrics.snapshotPublished(bytes);
    logger.debug({ topic: this.key, digest: snapshot.digest, bytes, subscribers: this.size }, "Published");
    if (bytes > clientReceiveLimitBytes) {
      const message = "The document is larger than most gRPC clients accept (4 MiB) unless they are told to";
      logger.warn({ topic: this.key, bytes }, message);
    }
    this.#convergence.begin(snapshot.version.noticedMs, this.size);
    this.#broadcast.publish();
  }

  #settleDeletion(): void {
    this.#endGrace();
    const { deletionPolicy, clock } = this.#options;
    const { newest } = this;
    let after = newest;
    if (deletionPolicy === "close") {
      const error = new ProxyError("TOPIC_DELETED", `the FeatureFlag ${this.key} was deleted`);
      this.#refuseAll(error, ({ isToldOfAbsence }) => isToldOfAbsence === true);
      after = undefined;
    } else if (deletionPolicy === "empty") {
      const bytes = encodeSnapshot(emptyFlagDocument, newest?.bytes);
      const version = { ...newest?.version, noticedMs: clock.monotonicMs() };
      if (newest?.digest !== bytes.digest) after = this.#nextSnapshot(bytes, version);
    }
    const settled = deletionSettled(after);
    this.#setState(this.#state.kind === "stale" ? stale(settled, this.#state.reason) : settled);
  }

  #endGrace(): void {
    this.#cancelGrace?.();
    this.#cancelGrace = undefined;
  }

  #nextSnapshot(bytes: Snapshot["bytes"], version: SourceVersion): Snapshot {
    this.#sequence++;
    const publishedMs = this.#options.clock.monotonicMs();
    return new Snapshot({ topic: this.key, sequence: this.#sequence, version, publishedMs, bytes });
  }

  /** Ends all subscriptions there are but the spared ones; those that come later are none of its business. */
  #refuseAll(error: ProxyError, isSpared: (subscriber: Subscriber) => boolean = () => false): void {
    const refused: Subscriber[] = [];
    const spared: Subscription[] = [];
    for (let one = this.#subscriptions.shift(); one !== undefined; one = this.#subscriptions.shift()) {
      if (isSpared(one.subscriber)) {
        spared.push(one);
        continue;
      }
      one.detach();
      refused.push(one.subscriber);
    }
    for (const one of spared) {
      one.excuse();
      this.#subscriptions.add(one);
    }
    this.#convergence.abandon();
    this.#countHeld();
    if (refused.length === 0) return;
    let index = 0;
    this.#options.fanOut.begin({
      step: () => {
        const subscriber = refused[index++];
        subscriber?.refuse(error);
        return subscriber !== undefined;
      },
    });
    if (this.size === 0) this.#options.onIdle();
  }

  #countHeld(): void {
    const held = this.newest === undefined ? this.size : 0;
    if (held !== this.#held) this.#options.metrics.heldSubscribers(held - this.#held);
    this.#held = held;
  }

  #logConverged({ arrived, afterMs }: ConvergenceState): void {
    const ms = Object.fromEntries([...afterMs].map(([share, after]) => [share * 100, Math.round(after)]));
    const fields = { topic: this.key, sequence: this.#sequence, subscribers: arrived, afterMs: ms };
    this.#options.logger.info(fields, "a version has reached all its subscribers");
  }

  #logMissing(): void {
    const { logger, missingPolicy } = this.#options;
    const message =
      missingPolicy === "hold"
        ? "the FeatureFlag does not exist; its subscribers are held until it does"
        : "the FeatureFlag does not exist; its subscribers are refused until it does";
    logger.warn({ topic: this.key }, message);
  }

  #missingError(): ProxyError {
    const message = `the FeatureFlag ${this.key} does not exist; create it, or correct the selector`;
    return new ProxyError("TOPIC_MISSING", message);
  }
}
