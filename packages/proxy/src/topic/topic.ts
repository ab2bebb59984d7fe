import {
  type FlagDocument,
  type JsonObject,
  type PastVersion,
  type Readers,
  type TopicKey,
} from "@bunting/protocol";
import { releaseFrames } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";
import { encodeSnapshot } from "../snapshot/encode-snapshot.js";
import { Snapshot } from "../snapshot/snapshot.js";
import type {
  AbsenceReport,
  DocumentReport,
  SourceSink,
  SourceVersion,
  SourceReport,
} from "../source/flag-source.js";
import type { ConvergenceState } from "./convergence.js";
import { FreshnessNotice } from "./freshness-notice.js";
import { Subscription, type MissedVersions, type SubscribedTopic, type Subscriber } from "./subscription.js";
import { topicMissing } from "./tombstone.js";
import { TopicAcks } from "./topic-acks.js";
import type { TopicCharge } from "./topic-charge.js";
import { TopicDeletion, type DeletedTopic } from "./topic-deletion.js";
import { TopicLog } from "./topic-log.js";
import { TopicMemory } from "./topic-memory.js";
import type { TopicOptions } from "./topic-options.js";
import { isAbsent, staleReason, standing, type StandingState, type TopicState } from "./topic-state.js";
import { TopicSubscribers } from "./topic-subscribers.js";
import type { TopicTrial } from "./topic-trial.js";
import { startingView, viewOf, type TopicView } from "./topic-view.js";
import { VersionHistory } from "./version-history.js";

/**
 * One document with its subscribers: its state, its newest snapshot, and their list. The source reports its state
 * to it. An older snapshot is dropped as soon as there is a newer one, even if some subscribers have not
 * taken it: memory is bounded by the documents, not by the subscribers.
 */
export class Topic implements SourceSink, SubscribedTopic, DeletedTopic {
  readonly key: TopicKey;
  /** Acks and nacks of the agents that speak bunting.sync.v1. */
  readonly acks: TopicAcks;
  readonly charge: TopicCharge | undefined;
  readonly versions = new VersionHistory();
  /** A newer version, and those that try it; set by StagedTopic. */
  trial: TopicTrial | undefined;
  readonly #options: TopicOptions;
  readonly #log: TopicLog;
  readonly #subscribers: TopicSubscribers;
  readonly #deletion: TopicDeletion;
  readonly #memory: TopicMemory;
  #state: TopicState = { kind: "starting" };
  #view: TopicView = startingView;
  #freshness: FreshnessNotice | undefined;
  #isClosed = false;
  #sequence = 0;
  #readers: Readers | undefined;

  constructor(options: TopicOptions) {
    this.key = options.key;
    this.#options = options;
    this.charge = options.charge;
    this.#deletion = new TopicDeletion(options, this);
    this.#memory = new TopicMemory(options.key, options.ledger, options.onRoom);
    this.#log = new TopicLog(options.key, options.context.log);
    this.acks = new TopicAcks(options.key, options.context.clock, options.context.log);
    this.#subscribers = new TopicSubscribers({
      ...options,
      onConverged: (state) => this.#log.converged(this.#sequence, state),
    });
    options.context.metrics.topics(this.#state.kind, 1);
  }

  get state(): TopicState {
    return this.#state;
  }

  /** Tells subscribers whether the source can be followed; undefined as long as it always could. */
  get freshness(): FreshnessNotice | undefined {
    return this.#freshness;
  }

  /** The state as subscribers see it. */
  get view(): TopicView {
    return this.#view;
  }

  /** The served snapshot, if any. */
  get newest(): Snapshot | undefined {
    return this.#view.snapshot;
  }

  get history(): readonly PastVersion[] | undefined {
    return this.newest?.bytes.history;
  }

  flags(): JsonObject | undefined {
    const text = this.newest?.text;
    return text === undefined ? undefined : (JSON.parse(text) as FlagDocument).flags;
  }

  /** The readers that the newest version of the object names; undefined if they are not known. */
  get readers(): Readers | undefined {
    return this.#readers;
  }

  /** Number of subscriptions; those of the trial are not among them. */
  get size(): number {
    return this.#subscribers.size;
  }

  /** All subscriptions, for a walk within one turn of the event loop. */
  get subscriptions(): Iterable<Subscription> {
    return this.#subscribers.all;
  }

  /** The number of snapshots published so far: the sequence of the last one. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Progress of the newest snapshot among the subscribers. */
  get convergence(): ConvergenceState {
    return this.#subscribers.convergence;
  }

  /** True if nothing is served because the document does not exist, and subscribers are refused. */
  get refusesSubscribers(): boolean {
    return isAbsent(this.#state) && this.#options.missingPolicy === "fail";
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True while a deleted document is still served as it was. The registry must not drop the topic meanwhile. */
  get isInGrace(): boolean {
    return this.#deletion.isInGrace;
  }

  /**
   * Adds a subscriber. All steps happen in one turn of the event loop, so that no snapshot is lost and none comes twice:
   *
   * 1. If there is no document and the policy is `fail`, the subscriber is refused.
   * 2. The subscriber is added to the list: every publish wakes it from now on, also one whose pass is under way.
   * 3. The caller takes the newest snapshot from the subscription, if there is one. A pass that reaches the subscriber
   *    later then finds nothing to do.
   * 4. If there was none, the subscriber waits: the first publish wakes it.
   *
   * @throws ProxyError TOPIC_MISSING by step 1.
   */
  subscribe(subscriber: Subscriber): Subscription {
    if (this.refusesSubscribers) throw topicMissing(this.key);
    const subscription = new Subscription(this, subscriber);
    this.#subscribers.add(subscription);
    return subscription;
  }

  report(report: SourceReport): void {
    if (this.#isClosed) return;
    const before = standing(this.#state);
    switch (report.kind) {
      case "document":
        this.#take(report);
        return;
      case "sameDocument":
        if (before.kind !== "live") return;
        this.#limitReaders(report.version);
        this.become({ kind: "live", snapshot: before.snapshot.at(report.version) });
        return;
      case "missing":
      case "deleted":
        this.#end(before, report);
        return;
      case "stale":
        releaseFrames(report.reason);
        // Debug only: the source has logged the error once for all of its topics.
        this.#options.context.logger.debug(
          { topic: this.key, error: report.reason },
          "the source is stale; the last state stays",
        );
        this.become({ kind: "stale", standing: before, reason: report.reason });
    }
  }

  // Called by the registry.

  /** Ends the topic: it ignores the source from here on, and refuses its remaining subscribers. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#deletion.endGrace();
    this.refuse(new ProxyError("SHUTTING_DOWN", "the proxy is shutting down; connect again"));
    this.#memory.close();
    this.charge?.close();
    this.acks.close();
    this.#options.context.metrics.topics(this.#state.kind, -1);
  }

  // Called by subscriptions.

  missedSince(sequence: number): MissedVersions | undefined {
    const count = this.#sequence - sequence;
    const sinceMs = count > 0 ? this.versions.publishedAfterMs(sequence) : undefined;
    return sinceMs === undefined ? undefined : { topic: this.key, sinceMs, count };
  }

  leave(subscription: Subscription): void {
    this.#subscribers.delete(subscription, !subscription.hasSettled(this.#sequence));
    if (this.size === 0) this.#options.onIdle();
  }

  caughtUp(): void {
    this.#subscribers.caughtUp();
  }

  conflated(snapshots: number): void {
    this.#options.context.metrics.conflated(snapshots);
  }

  // Called by its deletion.

  /** The only place where the state changes, and with it what subscribers see. A source must use `report`. */
  become(next: TopicState): void {
    const { metrics } = this.#options.context;
    const before = this.#state;
    const viewBefore = this.#view;
    this.#state = next;
    this.#view = viewOf(next, this.key, this.#deletion.policy, viewBefore);
    if (next.kind !== before.kind) {
      metrics.topics(before.kind, -1);
      metrics.topics(next.kind, 1);
    }
    const { snapshot, tombstone } = this.#view;
    this.#memory.hold(snapshot?.bytes);
    if (snapshot !== undefined && snapshot.sequence !== viewBefore.snapshot?.sequence)
      this.#publish(snapshot);
    if (isAbsent(next)) {
      if (!isAbsent(before)) this.#log.missing(this.#options.missingPolicy);
      if (this.refusesSubscribers) this.refuse(topicMissing(this.key));
    }
    if (tombstone !== viewBefore.tombstone) this.#subscribers.wake();
    this.#subscribers.setWaiting(snapshot === undefined);
    this.#setFreshness(staleReason(next));
  }

  nextSnapshot(bytes: Snapshot["bytes"], version: SourceVersion): Snapshot {
    this.#sequence++;
    const publishedMs = this.#options.context.clock.monotonicMs();
    return new Snapshot({ topic: this.key, sequence: this.#sequence, version, publishedMs, bytes });
  }

  refuse(error: ProxyError, isSpared?: (subscriber: Subscriber) => boolean): void {
    const sizeBefore = this.size;
    this.#subscribers.refuse(error, isSpared);
    if (sizeBefore > 0 && this.size === 0) this.#options.onIdle();
  }

  #take({ document, version, history }: DocumentReport): void {
    const { newest } = this;
    const bytes = encodeSnapshot(document, newest?.bytes, history);
    this.#limitReaders(version);
    // The last subscriber was just refused, and with it the topic has ended.
    if (this.#isClosed) return;
    if (!this.#memory.admits(bytes)) throw this.#memory.refusal();
    // The grace ends only here: before a document that can't be served, an earlier deletion must still settle.
    this.#deletion.endGrace();
    // An equal document is not published again, but its object may have a new version.
    const isNew = newest?.digest !== bytes.digest;
    const snapshot = isNew ? this.nextSnapshot(bytes, version) : newest.at(version, history);
    this.become({ kind: "live", snapshot });
  }

  /** Must be called before anyone can take this version: an edit that takes away a reader's right must not show the reader its flags. */
  #limitReaders({ readers }: SourceVersion): void {
    this.#readers = readers;
    for (const { error, subscribers } of this.#options.lost?.(this.key) ?? [])
      this.refuse(error, (subscriber) => !subscribers.has(subscriber));
  }

  /** A source that has forgotten a document reports it as missing. This topic has not, so for it the document is deleted. */
  #end(before: StandingState, { kind, applied }: AbsenceReport): void {
    this.#readers = undefined;
    this.#memory.forgetRefused();
    if (kind === "missing" && (before.kind === "starting" || before.kind === "missing"))
      this.become({ kind: "missing" });
    else if (applied !== undefined) this.#deletion.bySource(applied);
    else if (before.kind === "deleted") this.become(before);
    else this.#deletion.begin();
  }

  #setFreshness(reason: Error | undefined): void {
    if (this.#freshness?.says(reason) ?? reason === undefined) return;
    this.#freshness = new FreshnessNotice(this.key, reason);
    this.#subscribers.wakeForFreshness();
  }

  #publish(snapshot: Snapshot): void {
    const { metrics, logger } = this.#options.context;
    const bytes = snapshot.syncFrame.length;
    metrics.snapshotPublished(bytes);
    logger.debug({ topic: this.key, digest: snapshot.digest, bytes, subscribers: this.size }, "published");
    this.#log.published(bytes);
    this.versions.add(snapshot, this.convergence.behind === 0 ? this.acks.held : undefined);
    this.#subscribers.publish(snapshot.version.noticedMs);
  }
}
