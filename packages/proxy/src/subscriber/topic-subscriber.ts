import type { Identity } from "@bunting/identity";
import type { buntingSyncV1, TopicKey } from "@bunting/protocol";
import type { Starter, StartQueue, TransportSession } from "@bunting/rpc";
import type { Clock, Deadlines } from "@bunting/runtime";
import type { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";
import type { AgentMessageKind } from "./subscriber-metrics.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import type { VersionFrame } from "../snapshot/topic-frames.js";
import type { FreshnessNotice } from "../topic/freshness-notice.js";
import type { Subscriber, Subscription } from "../topic/subscription.js";
import type { Tombstone } from "../topic/tombstone.js";
import type { FlagRejection, TopicAcks } from "../topic/topic-acks.js";
import type { DeletedView, LiveView, TopicView } from "../topic/topic-view.js";
import type { AgentRequest } from "./agent-request.js";
import { flagsOf, replaceRejections, shortenedKey, type RejectedPart } from "./replace-rejections.js";
import { ResumeGuard } from "./resume-guard.js";

/** The agent's stream that a subscriber belongs to. */
export interface SubscriberOwner {
  readonly connection: TransportSession;
  readonly program: string | undefined;
  readonly identity: Identity | undefined;
  /** The peer is another proxy. */
  readonly isProxy: boolean;
  /** The peer is told whether the source can be followed. */
  readonly readsFreshness: boolean;
  /** The subscriber may have something to send: `next` is called when its turn comes. */
  due(subscriber: TopicSubscriber): void;
  /** The topic has ended the subscription. */
  ended(subscriber: TopicSubscriber, error: ProxyError): void;
}

/** The parts that the subscribers of all streams share. */
export interface TopicSubscriberContext {
  readonly metrics: ProxyMetrics;
  readonly clock: Clock;
  /** Subscribers that wait for an answer of their agent. */
  readonly unanswered: Deadlines<TopicSubscriber>;
  /** Decides when a subscriber gets its first snapshot; smaller messages do not wait. */
  readonly startQueue?: StartQueue | undefined;
  /** Makes the source read a topic again. Returns a function that cancels. */
  readonly refresh: (topic: TopicKey, done: () => void, connection: TransportSession) => () => void;
}

/** A message of bunting.sync.v1: a complete gRPC frame. */
export interface AgentMessage {
  readonly kind: AgentMessageKind;
  readonly frame: Uint8Array;
}

/** Histories sent in a row for ever newer versions; the next version is then sent without one. */
const maxHistories = 3;

const none: ReadonlySet<FlagRejection> = new Set();

/**
 * One topic of an agent's stream: the version that the agent has, and the one message that it has not answered yet.
 *
 * A topic goes through these states: it waits for its turn in the start queue (`#isQueued`), it is idle, or a message is
 * unanswered (`#sentNumber > 0`). `next` makes a message when it may be sent, from the newest version at that time. `answer`
 * and `giveUp` end the wait for an answer.
 *
 * Invariants:
 * - At most one version (snapshot, delta, "unchanged") is unanswered. Tombstones, histories and freshness need no answer,
 *   but also wait for it.
 * - `#currentDigest` is concluded from the agent's answers only, never from what was sent.
 * - Every change of `#currentDigest` goes through `#acknowledge`, so that TopicAcks counts each agent once.
 * - `#refused` is never sent again; the next version is.
 * - After a tombstone (`#announced`) the next document is sent even if the agent has it already.
 * - While `#resumeGuard` is set, the agent may have a newer version than this proxy: it must not be sent backwards.
 */
export class TopicSubscriber implements Subscriber, Starter {
  readonly readsTombstones = true;
  readonly topic: TopicKey;
  readonly #context: TopicSubscriberContext;
  readonly #owner: SubscriberOwner;
  #subscription: Subscription | undefined;
  #acks: TopicAcks | undefined;
  /** Digest of the version that the agent has; empty if none, or unknown. */
  #currentDigest = "";
  /** The digest that the agent had when it did not answer in time; empty once it answers again. */
  #unansweredDigest = "";
  /** Number of the unanswered message; 0 if there is none. */
  #sentNumber = 0;
  /** Kind of the last version message, and the digest that it leads to. */
  #sentKind: VersionFrame["kind"] = "snapshot";
  #sent = "";
  /** Publication time of the snapshot being written, for the metric; undefined if it is older than the subscription. */
  #publishedMs: number | undefined;
  /** Digest of the version that the agent refused. */
  #refused = "";
  /** What was said last about the source; undefined if nothing was. */
  #toldFreshness: FreshnessNotice | undefined;
  /** The digest that the last history leads to, and the number of histories since the last version; undefined if none. */
  #sentHistory: { readonly to: string; readonly count: number } | undefined;
  /** The last tombstone sent, until there is a document again. */
  #announced: Tombstone | undefined;
  #rejections = none;
  #resumeGuard: ResumeGuard | undefined;
  #hasStarted = false;
  #isQueued = false;

  constructor(context: TopicSubscriberContext, owner: SubscriberOwner, topic: TopicKey) {
    this.#context = context;
    this.#owner = owner;
    this.topic = topic;
  }

  /** Starts to serve a subscription. `held` is the version that the agent resumes from. */
  open(subscription: Subscription, held: buntingSyncV1.Version | undefined): void {
    this.#subscription = subscription;
    this.#acks = subscription.acks;
    this.#context.metrics.agentSubscriptions(1);
    if (held !== undefined) {
      const { uid, generation, resourceVersion } = held;
      const { metrics, refresh } = this.#context;
      this.#resumeGuard = new ResumeGuard({
        current: { uid, generation: Number(generation), resourceVersion },
        metrics,
        refresh: (done) => refresh(this.topic, done, this.connection),
        onRead: () => this.wake(),
      });
      this.#acknowledge(held.digest.toString("hex"));
    }
    this.wake();
  }

  wake(): void {
    this.#owner.due(this);
  }

  refuse(error: ProxyError): void {
    this.#owner.ended(this, error);
  }

  get connection(): TransportSession {
    return this.#owner.connection;
  }

  get program(): string | undefined {
    return this.#owner.program;
  }

  get readsFreshness(): boolean {
    return this.#owner.readsFreshness;
  }

  get identity(): Identity | undefined {
    return this.#owner.identity;
  }

  get subscription(): Subscription | undefined {
    return this.#subscription;
  }

  get lastDigest(): string {
    return this.#currentDigest === "" ? this.#unansweredDigest : this.#currentDigest;
  }

  start(): void {
    this.#isQueued = false;
    this.#hasStarted = true;
    this.wake();
  }

  /** True if there is a newer version than the unanswered one. */
  get isBehind(): boolean {
    const newest = this.#subscription?.view.snapshot;
    return this.#sentNumber > 0 && newest !== undefined && newest.digest !== this.#sent;
  }

  /** The next message, which counts as sent under this number of the stream. Undefined if there is nothing to send. */
  next(number: number): AgentMessage | undefined {
    const subscription = this.#subscription;
    // Tombstones wait too: an ack that arrives after one would claim a version that the agent has already dropped.
    if (subscription === undefined || this.#sentNumber > 0) return undefined;
    return this.#nextOf(subscription.view, number) ?? this.#freshness(subscription.freshness);
  }

  #nextOf(view: TopicView, number: number): AgentMessage | undefined {
    switch (view.kind) {
      case "starting":
        return undefined;
      case "live":
        return this.#serve(view, view.snapshot, number);
      case "missing":
        return this.#announce(view.tombstone);
      case "deleted": {
        const { snapshot, tombstone } = view;
        if (this.#resumeGuard?.mustAwaitRead(snapshot?.version) === true) return undefined;
        // An agent that is to serve no flags needs no document.
        const needsNone = snapshot === undefined || tombstone?.policy === "empty";
        return needsNone ? this.#announce(tombstone) : this.#serve(view, snapshot, number);
      }
    }
  }

  /** Whether the source can be followed, if that has changed; it could before anything was said. */
  #freshness(freshness: FreshnessNotice | undefined): AgentMessage | undefined {
    const told = this.#toldFreshness;
    if (freshness === told || !this.readsFreshness) return undefined;
    this.#toldFreshness = freshness;
    return freshness?.says(told?.reason) === false ? freshness : undefined;
  }

  /** The message from `next` has been written. */
  written(): void {
    if (this.#publishedMs === undefined) return;
    this.#context.metrics.fannedOut(this.#context.clock.monotonicMs() - this.#publishedMs);
    this.#publishedMs = undefined;
  }

  /**
   * Takes the agent's answer to a message. Late and repeated answers are ignored.
   *
   * @param written number of the last message of the stream
   * @returns false if the answer fits no message that was sent
   */
  answer(request: Extract<AgentRequest, { $case: "ack" | "nack" }>, written: number): boolean {
    const number = Number(request.value.number);
    if (number < 1 || number > written) return false;
    if (request.$case === "ack")
      return this.#ack(number, request.value.digest.toString("hex"), request.value.rejectedFlags);
    const { heldDigest, reason, isDeltaMismatch } = request.value;
    this.#nack(number, heldDigest.toString("hex"), reason, isDeltaMismatch);
    return true;
  }

  /** The agent has taken this message, except for the rejected flags. False if it claims another digest. */
  #ack(number: number, digest: string, rejected: readonly buntingSyncV1.RejectedFlag[]): boolean {
    if (number !== this.#sentNumber) return true;
    if (digest !== this.#sent) return false;
    this.#answered(digest);
    this.#refused = "";
    this.#setRejections(rejected.map(({ key, reason }) => ({ digest, flag: shortenedKey(key), reason })));
    this.wake();
    return true;
  }

  /** The agent has applied nothing of this message. */
  #nack(number: number, heldDigest: string, reason: string, isDeltaMismatch: boolean): void {
    if (number !== this.#sentNumber) return;
    const digest = this.#sent;
    // A snapshot can't mismatch: to send it again would never end.
    const isMismatch = isDeltaMismatch && this.#sentKind !== "snapshot";
    this.#context.metrics.nacked(isMismatch ? "mismatch" : "refused");
    this.#answered(isMismatch ? "" : heldDigest);
    if (isMismatch) {
      this.#subscription?.retake();
    } else {
      this.#refused = digest;
      this.#setRejections([{ digest, flag: undefined, reason }]);
    }
    this.wake();
  }

  /** The agent did not answer in time: its version is unknown from now on. */
  giveUp(): void {
    this.#context.metrics.ackTimedOut();
    const { lastDigest } = this;
    this.#answered("");
    this.#unansweredDigest = lastDigest;
    this.#refused = "";
    this.#subscription?.retake();
    this.wake();
  }

  /** Leaves the topic. May be called again. */
  close(): void {
    if (this.#subscription === undefined) return;
    if (this.#isQueued) this.#context.startQueue?.leave(this);
    this.#isQueued = false;
    this.#context.unanswered.cancel(this);
    this.#context.metrics.agentSubscriptions(-1);
    this.#passResumeGuard();
    this.#acknowledge("");
    this.#setRejections([]);
    this.#subscription.close();
    this.#subscription = undefined;
  }

  /** The message that leads to this snapshot if it was not sent yet; otherwise the tombstone. */
  #serve(view: LiveView | DeletedView, snapshot: Snapshot, number: number): AgentMessage | undefined {
    const { kind, tombstone } = view;
    if (tombstone === undefined) this.#returnFromTombstone();
    // An agent with a newer version keeps it, but learns of the deletion.
    if (this.#resumeGuard?.mustWait(snapshot.version, kind === "deleted") === true)
      return this.#announce(tombstone);
    this.#passResumeGuard();
    if (!this.#mayStart(snapshot)) return undefined;
    const message = snapshot.digest === this.#refused ? undefined : (this.#history() ?? this.#send(number));
    return message ?? this.#announce(tombstone);
  }

  #mayStart(newest: Snapshot): boolean {
    const { startQueue } = this.#context;
    if (this.#hasStarted || startQueue === undefined) return true;
    if (this.#isQueued) return false;
    this.#hasStarted =
      newest.topicFrames.from(this.#currentDigest).kind !== "snapshot" || startQueue.enter(this);
    this.#isQueued = !this.#hasStarted;
    return this.#hasStarted;
  }

  /**
   * The history that another proxy receives before a version. If a newer version comes before this one is sent, a history of
   * the newer one goes first, at most `maxHistories` times.
   */
  #history(): AgentMessage | undefined {
    const snapshot = this.#owner.isProxy ? this.#subscription?.due : undefined;
    const { to, count } = this.#sentHistory ?? { to: "", count: 0 };
    if (snapshot === undefined || snapshot.digest === to || count >= maxHistories) return undefined;
    const frame = snapshot.topicFrames.historyFrom(this.#currentDigest);
    if (frame === undefined) return undefined;
    this.#sentHistory = { to: snapshot.digest, count: count + 1 };
    return { kind: "history", frame };
  }

  #send(number: number): AgentMessage | undefined {
    const snapshot = this.#subscription?.due;
    if (snapshot === undefined) {
      this.#subscription?.settle();
      return undefined;
    }
    this.#subscription?.take(snapshot);
    this.#sentHistory = undefined;
    const message = snapshot.topicFrames.from(this.#currentDigest);
    // The age of a snapshot from before the subscription says nothing about our speed.
    const wasThere = this.#subscription?.hasSettled(snapshot.sequence) === false;
    this.#publishedMs = wasThere ? snapshot.publishedMs : undefined;
    this.#sentNumber = number;
    this.#sentKind = message.kind;
    this.#sent = snapshot.digest;
    this.#context.unanswered.start(this);
    return message;
  }

  #answered(currentDigest: string): void {
    this.#context.unanswered.cancel(this);
    this.#sentNumber = 0;
    this.#acknowledge(currentDigest);
  }

  #announce(tombstone: Tombstone | undefined): AgentMessage | undefined {
    if (tombstone === undefined || tombstone === this.#announced) return undefined;
    this.#announced = tombstone;
    if (tombstone.policy === "empty") {
      this.#acknowledge("");
      this.#setRejections([]);
      this.#refused = "";
      this.#subscription?.skip();
    }
    return tombstone;
  }

  #returnFromTombstone(): void {
    if (this.#announced === undefined) return;
    this.#announced = undefined;
    this.#subscription?.retake();
  }

  #passResumeGuard(): void {
    this.#resumeGuard?.close();
    this.#resumeGuard = undefined;
  }

  #acknowledge(digest: string): void {
    this.#acks?.acknowledge(this.#currentDigest, digest);
    this.#currentDigest = digest;
    this.#unansweredDigest = "";
  }

  #setRejections(refused: readonly RejectedPart[]): void {
    const before = this.#rejections;
    if (before.size === 0 && refused.length === 0) return;
    this.#rejections = replaceRejections(this.#acks, this.connection, before, refused);
    this.#context.metrics.rejectedFlags(flagsOf(this.#rejections) - flagsOf(before));
  }
}
