import type { StoredRecord } from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { ProxyError } from "../../proxy-error.js";
import type { SourceSink } from "../flag-source.js";
import { OwnerConfirmation } from "./owner-confirmation.js";
import { InnerWatch } from "./inner-watch.js";
import { isMadeUp, knownOf, type Known, type WatchReport } from "./known.js";
import { LocalSink } from "./local-sink.js";
import { isRemoteKey } from "../remote/remote-key.js";
import type { ReplicatedShared } from "./replicated-shared.js";
import { TopicFollowing, type FollowedTopic } from "./topic-following.js";
import { TopicHistory } from "./topic-history.js";

/**
 * One topic on this replica: watched (by its source), followed (in Redis), or both while one takes over from the other.
 * The reports of both are put into one history. By `settle`, which every change that matters calls, it is
 * - watched and written to Redis, if this replica is the owner;
 * - watched and followed, while no owner has confirmed the topic lately (`#isDirect`);
 * - followed, if another replica is the owner; only watched, while Redis can't be used.
 *
 * Invariants:
 * - Make before break: an open watch stays open until an owner's confirmation is seen.
 * - Subscribers receive only what is later in the history than their last report (LocalSink sees to it).
 * - While a consistent read decides between two reports that contradict each other, `current` is undefined.
 */
export class ReplicatedTopic implements FollowedTopic {
  readonly key: TopicKey;
  /** The peer, for fairness, on whose behalf other replicas want it: the topics of a namespace have the same. */
  readonly peerOfOthers: string;
  /** The topic is the document of a remote: it says nothing of whether the cluster can be read. */
  readonly isRemote: boolean;
  /** Of the RecordWriter: fence of the lease under which the record in Redis was last compared with `current`. */
  basedOn: number | undefined;
  /** Another replica waits for the first report: it is written, and so announced, even if Redis holds the same. */
  isAsked = false;
  /** Another replica has subscribers of the topic. */
  isWantedElsewhere = false;
  /** What the topic takes from Redis. */
  readonly following: TopicFollowing<ReplicatedTopic>;
  readonly #shared: ReplicatedShared<ReplicatedTopic>;
  readonly #history: TopicHistory;
  #watch: InnerWatch | undefined;
  #isDirect = false;
  readonly #confirmation: OwnerConfirmation;
  #refreshes = 0;

  constructor(key: TopicKey, shared: ReplicatedShared<ReplicatedTopic>) {
    this.key = key;
    this.isRemote = isRemoteKey(key);
    this.peerOfOthers = key.slice(0, key.indexOf("/"));
    this.#shared = shared;
    this.#confirmation = new OwnerConfirmation(shared);
    this.#history = new TopicHistory(() => shared.events.onAnswered(this));
    this.following = new TopicFollowing<ReplicatedTopic>(this, shared, this.#history, this.#confirmation);
  }

  get hasSubscribers(): boolean {
    return this.#local !== undefined;
  }

  get isWatched(): boolean {
    return this.#watch !== undefined;
  }

  /** The last report of the watch is valid, and placed in the history. */
  get isCurrent(): boolean {
    return this.#watch?.isCurrent === true && !this.#history.isVerifying;
  }

  /** There was a FeatureFlag when the topic was last reported. */
  get exists(): boolean {
    return this.#newest?.kind === "document";
  }

  /** The watch can't read the topic, for a reason that lies outside of the document: another replica may be able to. */
  get cannotRead(): boolean {
    const reason = this.#watch?.staleReason;
    return reason !== undefined && !(reason instanceof ProxyError && reason.code === "DOCUMENT_INVALID");
  }

  get isDirect(): boolean {
    return this.#isDirect && this.#local !== undefined;
  }

  /** The record that an owner has to write; undefined while the watch has no valid report. */
  get current(): Known | undefined {
    return this.isCurrent ? this.#newest : undefined;
  }

  /** Neither subscribers, other replicas nor refreshes need the topic: it can be forgotten. */
  get isIdle(): boolean {
    return this.#local === undefined && !this.isWantedElsewhere && this.#refreshes === 0;
  }

  attach(sink: SourceSink, peer: unknown): void {
    const local = new LocalSink(sink, peer);
    this.#history.local = local;
    this.#confirmation.asked();
    // Sinks are never called from within `watch`.
    queueMicrotask(() => {
      if (this.#local !== local || this.#watch === undefined) return;
      const { lastReport, staleReason } = this.#watch;
      const { newest, isVerifying } = this.#history;
      if (lastReport !== undefined && newest !== undefined && !isVerifying)
        this.#history.isTaken(() => local.report(newest, false));
      if (staleReason !== undefined) local.stale(staleReason);
    });
    this.settle();
  }

  detach(): void {
    this.#history.local = undefined;
    this.#isDirect = false;
    this.settle();
  }

  /** The lease is lost or given up: this replica's own confirmations must not count as those of the next owner. */
  invalidateConfirmation(): void {
    this.basedOn = undefined;
    this.#confirmation.invalidateConfirmation();
  }

  /** Opens or closes the watch, and starts or ends following, as the present state demands. */
  settle(): void {
    const { usesRedis, lease } = this.#shared;
    const isLocal = this.#local !== undefined;
    const isOwned = lease() !== undefined && (isLocal || this.isWantedElsewhere);
    const isNeeded = isOwned || (isLocal && !usesRedis()) || this.#refreshes > 0;
    if (isLocal && !isNeeded && this.#watch !== undefined && !this.#confirmation.isFresh)
      this.#isDirect = true;
    if (isOwned || !usesRedis()) this.#isDirect = false;
    if (isNeeded || this.#isDirect) this.#open();
    else this.#close();
    if (isLocal && usesRedis() && !(isOwned && this.isCurrent)) this.following.begin();
    else this.following.end();
  }

  /** Watches the topic here if no owner has confirmed it lately. Reports it as stale if that watch can't read either. */
  expire(): void {
    const local = this.#local;
    if (local === undefined || this.#confirmation.isFresh) return;
    if (!this.#shared.usesRedis() || this.#shared.lease() !== undefined) return;
    if (!this.#isDirect) this.goDirect();
    const reason = this.#watch?.staleReason;
    if (reason !== undefined && !local.isStale) local.stale(reason);
  }

  close(): void {
    this.#history.local = undefined;
    this.following.end();
    this.#close();
  }

  /** Reads the topic consistently by its own watch, which is opened for that if need be. Returns a function that cancels. */
  refresh(done: () => void, peer: unknown): () => void {
    this.#refreshes++;
    this.settle();
    let isOver = false;
    const end = (): boolean => {
      if (isOver) return false;
      isOver = true;
      this.#refreshes--;
      this.settle();
      this.#shared.events.onRead(this);
      return true;
    };
    const finish = (): void => {
      if (end()) done();
    };
    const cancel = this.#shared.source.refresh?.(this.key, finish, peer);
    // A source that can't read again knows all there is.
    if (cancel === undefined) queueMicrotask(finish);
    return () => {
      cancel?.();
      end();
    };
  }

  /** Redis has no usable record: `#newest` begins an epoch, so that followers with older epochs accept it. */
  anchor(fence: number): void {
    const known = this.#newest;
    if (known !== undefined && (known.epoch < fence || isMadeUp(known, fence))) this.#history.moveTo(fence);
  }

  /** Takes a record of Redis as the history, and places the last report of the watch in it. */
  rebase(stored: StoredRecord, fence: number): void {
    if (this.#newest !== undefined && isMadeUp(this.#newest, fence)) this.#history.moveTo(fence);
    const wasTaken = this.following.record(stored);
    const report = this.#watch?.lastReport;
    if (report === undefined || this.#watch?.isCurrent !== true) return;
    const known = knownOf(stored, this.#shared.context.clock.monotonicMs());
    // Even an unconfirmed record is continued: Redis refuses writes with an earlier position.
    if (!wasTaken && !this.#history.isVerifying) this.#history.continueAfter(known);
    this.#history.isTaken(() => this.#place(report));
  }

  /** Tells the newest state again, for which there was no memory. False if the watch has to report it. */
  offerAgain(): boolean {
    if (this.isWatched || this.#newest === undefined) return false;
    this.#history.take(this.#newest, !this.#confirmation.isConfirmed);
    return true;
  }

  // Called by `following`.

  /** Reads consistently before a report that contradicts `#newest` may replace it. */
  verify(): void {
    const { source } = this.#shared;
    this.#history.decide({
      read: (done) => {
        if (source.refresh === undefined) queueMicrotask(done);
        else source.refresh(this.key, done, this.#local?.peer);
      },
      report: () => this.#watch?.lastReport,
      fence: () => this.#fence,
    });
  }

  /** An owner has confirmed `#newest`: staleness ends, and the direct watch with it. */
  fresh(agoMs: number): void {
    if (!this.#confirmation.confirmed(agoMs)) return;
    if (!this.#history.retell()) return;
    this.#isDirect = false;
    this.settle();
  }

  goDirect(): void {
    if (this.#local === undefined) return;
    this.#confirmation.expire();
    this.#isDirect = true;
    this.settle();
  }

  get #newest(): Known | undefined {
    return this.#history.newest;
  }

  get #local(): LocalSink | undefined {
    return this.#history.local;
  }

  get #fence(): number {
    return this.#shared.lease()?.fence ?? 0;
  }

  #place(report: WatchReport): void {
    if (!this.#history.place(report, this.#fence)) this.verify();
  }

  #open(): void {
    if (this.#watch !== undefined) return;
    const { source, context } = this.#shared;
    const watch = new InnerWatch({
      source,
      topic: this.key,
      peer: this.#local?.peer ?? this.peerOfOthers,
      nowMs: () => context.clock.monotonicMs(),
      reader: {
        onReport: (report) => {
          this.#place(report);
          this.settle();
        },
        onStale: (reason) => this.#watchIsStale(reason),
        flags: () => this.#newest?.document?.flags,
      },
    });
    this.#watch = watch;
    watch.open();
  }

  #watchIsStale(reason: Error): void {
    if (this.#shared.lease() !== undefined || !this.#confirmation.isFresh || !this.#shared.usesRedis())
      this.#local?.stale(reason);
    this.#shared.events.onStale(this);
    this.settle();
  }

  #close(): void {
    this.#watch?.close();
    this.#watch = undefined;
    this.#history.cancelDecision();
    this.basedOn = undefined;
  }
}
