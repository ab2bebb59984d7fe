import type { buntingSyncV1, TopicKey } from "@bunting/protocol";
import type { Starter, StartQueue, TransportSession } from "@bunting/rpc";
import { cut, type Clock, type Deadlines } from "@bunting/runtime";
import type { ProxyError } from "../proxy-error.js";
import type { AgentMessageKind, ProxyMetrics } from "../proxy-metrics.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import { frameResponse, type VersionFrame } from "../snapshot/topic-frames.js";
import type { Subscriber, Subscription } from "../topic/subscription.js";
import type { Tombstone } from "../topic/tombstone.js";
import type { FlagRejection, TopicAcks } from "../topic/topic-acks.js";
import type { DeletedView, LiveView, TopicView } from "../topic/topic-view.js";
import { maxKeyCharacters, type AgentRequest } from "./agent-request.js";
import { ResumeGuard } from "./resume-guard.js";

/** The stream that a subscriber is part of. */
export interface SubscriberOwner {
  readonly connection: TransportSession;
  readonly program: string | undefined;
  /** It is the stream of another proxy. */
  readonly isProxy: boolean;
  /** The subscriber may have something to send: `next` is called when its turn comes. */
  due(subscriber: TopicSubscriber): void;
  /** The topic has ended the subscription. */
  ended(subscriber: TopicSubscriber, error: ProxyError): void;
}

/** What the subscribers of all streams have in common. */
export interface TopicSubscriberContext {
  readonly metrics: ProxyMetrics;
  readonly clock: Clock;
  /** Subscribers that wait for an answer of their agent. */
  readonly unanswered: Deadlines<TopicSubscriber>;
  /** Decides when a subscriber gets its first snapshot; smaller messages do not wait. */
  readonly startQueue?: StartQueue | undefined;
  /** Has the source read a topic once more. Returns how to wait no longer. */
  readonly refresh: (topic: TopicKey, done: () => void, connection: TransportSession) => () => void;
}

/** A message of bunting.sync.v1: a complete gRPC frame. */
export interface AgentMessage {
  readonly kind: AgentMessageKind;
  readonly frame: Uint8Array;
}

/** How often a version waits for a history of its own, because a newer one came meanwhile, before it is sent without. */
const maxHistories = 3;

const none: ReadonlySet<FlagRejection> = new Set();

/**
 * One topic of an agent's stream: what the agent says it holds, and the message that it has not answered yet. There is at most one such
 * message; the next one is made when it may be sent, from the newest version at that time. What the agent holds is concluded from its
 * answers only, never from what was sent.
 */
export class TopicSubscriber implements Subscriber, Starter {
  readonly readsTombstones = true;
  readonly topic: TopicKey;
  readonly #context: TopicSubscriberContext;
  readonly #owner: SubscriberOwner;
  #subscription: Subscription | undefined;
  #acks: TopicAcks | undefined;
  /** Digest of what the agent holds; empty if it holds nothing, or nothing known. */
  #currentDigest = "";
  /** Number of the message that the agent has not answered; 0 if there is none. */
  #sentNumber = 0;
  /** Kind of that message, and the digest it leads to. */
  #sentKind: VersionFrame["kind"] = "snapshot";
  #sent = "";
  /** When the snapshot being written was published, if this was subscribed by then; undefined once that was observed. */
  #publishedMs: number | undefined;
  /** Digest of the version that the agent refused, which is not sent again. */
  #refused = "";
  /** The reason for staleness that was sent last; undefined if it was told that there is none, or nothing. */
  #reportedStale: Error | undefined;
  /** The digest that the last history leads to, and how many were sent since the last version. Undefined if none. */
  #sentHistory: { readonly to: string; readonly count: number } | undefined;
  /** The last tombstone sent, until there is a document again. */
  #announced: Tombstone | undefined;
  #rejections = none;
  /** Undefined once the agent is known to hold nothing newer than this proxy. */
  #resumeGuard: ResumeGuard | undefined;
  #hasStarted = false;
  #isQueued = false;

  constructor(context: TopicSubscriberContext, owner: SubscriberOwner, topic: TopicKey) {
    this.#context = context;
    this.#owner = owner;
    this.topic = topic;
  }

  /** Starts to serve a subscription made for this subscriber to an agent that holds this version. */
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
    return this.#owner.isProxy;
  }

  get currentDigest(): string {
    return this.#currentDigest;
  }

  start(): void {
    this.#isQueued = false;
    this.#hasStarted = true;
    this.wake();
  }

  /** True if there is a newer version than the one that was sent and is not answered. */
  get isBehind(): boolean {
    const newest = this.#subscription?.view.snapshot;
    return this.#sentNumber > 0 && newest !== undefined && newest.digest !== this.#sent;
  }

  /** The next message, which becomes the stream's message of this number; it then counts as sent. Undefined if there is nothing to send. */
  next(number: number): AgentMessage | undefined {
    const subscription = this.#subscription;
    // Tombstones wait for the answer too: the ack of an agent that has emptied itself since would say that it holds what it was sent.
    if (subscription === undefined || this.#sentNumber > 0) return undefined;
    return this.#nextOf(subscription.view, number) ?? this.#freshness(subscription.staleReason);
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
        // An agent told to serve no flags needs no document for that.
        const needsNone = snapshot === undefined || tombstone?.policy === "empty";
        return needsNone ? this.#announce(tombstone) : this.#serve(view, snapshot, number);
      }
    }
  }

  /** Whether the source can be followed, if that has changed and the stream is of a proxy. */
  #freshness(reason: Error | undefined): AgentMessage | undefined {
    if (reason === this.#reportedStale || !this.readsFreshness) return undefined;
    this.#reportedStale = reason;
    const value = { topic: this.topic, isStale: reason !== undefined, reason: cut(reason?.message ?? "") };
    return { kind: "freshness", frame: frameResponse({ $case: "freshness", value }) };
  }

  /** The message from `next` has been written. */
  written(): void {
    if (this.#publishedMs === undefined) return;
    this.#context.metrics.fannedOut(this.#context.clock.monotonicMs() - this.#publishedMs);
    this.#publishedMs = undefined;
  }

  /**
   * Takes the agent's answer to a message. False if it answers nothing that was sent: `written` is the number of the last message of the
   * stream. An answer that comes late or twice is ignored.
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

  /** The agent now holds what it was sent with this number, except for some flags. False if it claims to hold something else. */
  #ack(number: number, digest: string, rejected: readonly buntingSyncV1.RejectedFlag[]): boolean {
    if (number !== this.#sentNumber) return true;
    if (digest !== this.#sent) return false;
    this.#answered(digest);
    this.#refused = "";
    this.#setRejections(rejected.map(({ key, reason }) => ({ digest, flag: shortened(key), reason })));
    this.wake();
    return true;
  }

  /** The agent has applied nothing of what it was sent with this number. */
  #nack(number: number, heldDigest: string, reason: string, isDeltaMismatch: boolean): void {
    if (number !== this.#sentNumber) return;
    const digest = this.#sent;
    // A snapshot can't mismatch; to send it again would never end.
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

  /** There was no answer in time. */
  giveUp(): void {
    this.#context.metrics.ackTimedOut();
    this.#answered("");
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

  /** The message that leads to this snapshot, if it is not sent yet; then the tombstone. */
  #serve(view: LiveView | DeletedView, snapshot: Snapshot, number: number): AgentMessage | undefined {
    const { kind, tombstone } = view;
    if (tombstone === undefined) this.#returnFromTombstone();
    // An agent that holds something newer keeps it, but learns of the deletion.
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
   * What another proxy is told before a version. The version may be a newer one when its turn comes, and then has a history of its own, but
   * waits only so often.
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
    const snapshot = this.#subscription?.take();
    if (snapshot === undefined) return undefined;
    this.#sentHistory = undefined;
    const message = snapshot.topicFrames.from(this.#currentDigest);
    // For a snapshot published before the subscription, the time since then says nothing about our speed.
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

  /** After a tombstone the agent has to be told that there is a document again, even if it is the same as before. */
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
  }

  /** Adds the new ones before it releases the old ones, so that a rejection in both is not dropped in between. */
  #setRejections(refused: readonly Pick<FlagRejection, "digest" | "flag" | "reason">[]): void {
    const before = this.#rejections;
    if (before.size === 0 && refused.length === 0) return;
    const rejections = new Set<FlagRejection>();
    for (const { digest, flag, reason } of refused) {
      const rejection = this.#acks?.reject(this.connection, digest, flag, reason);
      // The same flag may be named twice.
      if (rejection === undefined || rejections.has(rejection)) continue;
      rejections.add(rejection);
      this.#acks?.retain(rejection);
    }
    this.#rejections = rejections;
    for (const rejection of before) this.#acks?.release(rejection);
    this.#context.metrics.rejectedFlags(flagsOf(rejections) - flagsOf(before));
  }
}

function flagsOf(rejections: ReadonlySet<FlagRejection>): number {
  let flags = 0;
  for (const { flag } of rejections) if (flag !== undefined) flags++;
  return flags;
}

/** A copy: a slice would keep the whole key, which may be a megabyte long. */
function shortened(key: string): string {
  return key.length <= maxKeyCharacters
    ? key
    : Buffer.from(key.slice(0, maxKeyCharacters), "utf16le").toString("utf16le");
}
