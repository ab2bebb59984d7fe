import type { buntingSyncV1, TopicKey } from "@bunting/protocol";
import type { Clock, Deadlines } from "@bunting/runtime";
import type { ProxyError } from "../proxy-error.js";
import type { AgentMessageKind, ProxyMetrics } from "../proxy-metrics.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import type { VersionFrame } from "../snapshot/topic-frames.js";
import type { Absence } from "../topic/tombstone.js";
import type { Subscriber, Subscription } from "../topic/subscription.js";
import type { Rejection, TopicAcks } from "../topic/topic-acks.js";
import { maxKeyCharacters } from "./agent-request.js";
import type { StartQueue, Starter } from "./start-queue.js";
import { isNewer, type ComparedVersion } from "./is-newer.js";

/** The stream a subscriber of one topic is part of. */
export interface SubscriberOwner {
  readonly connection: object;
  /** The subscriber may have something to say: it is asked for it when its turn comes. */
  due(subscriber: TopicSubscriber): void;
  /** The subscription has ended; there is nothing to say any more. */
  ended(subscriber: TopicSubscriber, error: ProxyError): void;
}

/** What the subscribers of all streams have in common. */
export interface TopicSubscriberContext {
  readonly metrics: ProxyMetrics;
  readonly clock: Clock;
  /** Those whose agent has not answered yet. */
  readonly unanswered: Deadlines<TopicSubscriber>;
  /** Says when a subscriber may have its first snapshot; what is smaller waits for nobody. */
  readonly startQueue?: StartQueue | undefined;
  /** Has the source read a topic once more. */
  readonly refresh: (topic: TopicKey, done: () => void) => void;
}

/** A message of bunting.sync.v1: a complete gRPC frame. */
export interface AgentMessage {
  readonly kind: AgentMessageKind;
  readonly frame: Uint8Array;
}

const none: readonly Rejection[] = [];

/**
 * One topic of an agent's stream: what the agent holds of it, by its own word, and what it was sent and has not answered. At most one
 * message that asks for an answer is without one; the next is made when it may be sent, from the newest version there is then. Nothing is
 * concluded from what was sent, only from what was answered.
 */
export class TopicSubscriber implements Subscriber, Starter {
  readonly isToldOfAbsence = true;
  readonly topic: TopicKey;
  readonly #context: TopicSubscriberContext;
  readonly #owner: SubscriberOwner;
  #subscription: Subscription | undefined;
  #acks: TopicAcks | undefined;
  /** Digest of what the agent holds; empty if nothing, or nobody knows. */
  #held = "";
  /** Number of the message it was sent and has not answered; 0 if there is none. */
  #sentNumber = 0;
  /** What that message was, and the digest it leads to. */
  #sentKind: VersionFrame["kind"] = "snapshot";
  #sent = "";
  /** When what was sent had been published, if this subscriber was there; to be observed when it is written. */
  #publishedMs: number | undefined;
  /** Digest of the version it refused, which is not sent again. */
  #refused = "";
  #announced: Absence | undefined;
  #rejections = none;
  /** What the agent came with, until it is known not to be newer than what there is here. */
  #resumed: ComparedVersion | undefined;
  /** Whether the source was asked to read the topic once more, and has not yet, or has. */
  #rereading: "no" | "under way" | "done" = "no";
  #hasStarted = false;
  #isQueued = false;

  constructor(context: TopicSubscriberContext, owner: SubscriberOwner, topic: TopicKey) {
    this.#context = context;
    this.#owner = owner;
    this.topic = topic;
  }

  /** Begins to serve a subscription made for this subscriber, to an agent that holds this version. */
  open(subscription: Subscription, held: buntingSyncV1.Version | undefined): void {
    this.#subscription = subscription;
    this.#acks = subscription.acks;
    this.#context.metrics.agentSubscriptions(1);
    if (held !== undefined) {
      const { uid, generation, resourceVersion } = held;
      this.#resumed = { uid, generation: Number(generation), resourceVersion };
      this.#hold(held.digest.toString("hex"));
    }
    this.wake();
  }

  wake(): void {
    this.#owner.due(this);
  }

  refuse(error: ProxyError): void {
    this.#owner.ended(this, error);
  }

  get connection(): object {
    return this.#owner.connection;
  }

  start(): boolean {
    if (!this.#isQueued) return false;
    this.#isQueued = false;
    this.#hasStarted = true;
    this.wake();
    return true;
  }

  /** True if something newer waits for an answer to what was sent. */
  get isBehind(): boolean {
    const newest = this.#subscription?.newest;
    return this.#sentNumber > 0 && newest !== undefined && newest.digest !== this.#sent;
  }

  /** What to send next, as the stream's message of this number; it then counts as sent. Undefined if there is nothing to send now. */
  next(number: number): AgentMessage | undefined {
    const subscription = this.#subscription;
    // Also absence waits for the answer: an agent that empties itself and then acks what it was sent before would be thought to hold that.
    if (subscription === undefined || this.#sentNumber > 0) return undefined;
    const { absence, newest } = subscription;
    if (absence === undefined) this.#returnFromAbsence();
    if (absence !== undefined && (newest === undefined || absence.policy === "empty"))
      return this.#announce(absence);
    if (newest === undefined) return undefined;
    // Of a deletion it is told all the same: it keeps what it has.
    if (this.#holdBack(subscription, newest)) return this.#announce(absence);
    if (!this.#mayStart(newest)) return undefined;
    const message = newest.digest === this.#refused ? undefined : this.#send(subscription.take(), number);
    return message ?? this.#announce(absence);
  }

  /** What `next` gave has been written. */
  written(): void {
    if (this.#publishedMs === undefined) return;
    this.#context.metrics.fannedOut(this.#context.clock.monotonicMs() - this.#publishedMs);
    this.#publishedMs = undefined;
  }

  /**
   * The agent now holds what it was sent with this number, except for some flags. An answer that comes late or twice is ignored. False if
   * the agent claims to hold something else.
   */
  ack(number: number, digest: string, rejected: readonly buntingSyncV1.RejectedFlag[]): boolean {
    if (number !== this.#sentNumber) return true;
    if (digest !== this.#sent) return false;
    this.#answered(digest);
    this.#refused = "";
    this.#uphold(
      rejected.map(({ key, reason }) => this.#acks?.reject(digest, key.slice(0, maxKeyCharacters), reason)),
    );
    this.wake();
    return true;
  }

  /** Nothing of what the agent was sent with this number was applied. */
  nack(number: number, heldDigest: string, reason: string, isDeltaMismatch: boolean): void {
    if (number !== this.#sentNumber) return;
    const digest = this.#sent;
    // A snapshot can't mismatch: it would be sent again for ever.
    const isMismatch = isDeltaMismatch && this.#sentKind !== "snapshot";
    this.#context.metrics.nacked(isMismatch ? "mismatch" : "refused");
    this.#answered(isMismatch ? "" : heldDigest);
    if (isMismatch) {
      this.#subscription?.forget();
    } else {
      this.#refused = digest;
      this.#uphold([this.#acks?.reject(digest, undefined, reason)]);
    }
    this.wake();
  }

  /** There was no answer in time. */
  giveUp(): void {
    this.#context.metrics.ackTimedOut();
    this.#answered("");
    this.#refused = "";
    this.#subscription?.forget();
    this.wake();
  }

  /** Leaves the topic. May be called again. */
  close(): void {
    if (this.#subscription === undefined) return;
    this.#isQueued = false;
    this.#context.unanswered.cancel(this);
    this.#context.metrics.agentSubscriptions(-1);
    this.#compared();
    this.#hold("");
    this.#uphold([]);
    this.#subscription.close();
    this.#subscription = undefined;
  }

  #mayStart(newest: Snapshot): boolean {
    const { startQueue } = this.#context;
    if (this.#hasStarted || startQueue === undefined) return true;
    if (this.#isQueued) return false;
    this.#hasStarted = newest.topicFrames.from(this.#held).kind !== "snapshot" || startQueue.enter(this);
    this.#isQueued = !this.#hasStarted;
    return this.#hasStarted;
  }

  #send(snapshot: Snapshot | undefined, number: number): AgentMessage | undefined {
    if (snapshot === undefined) return undefined;
    const message = snapshot.topicFrames.from(this.#held);
    // How long it had been published before the subscriber came says nothing of our speed.
    const wasThere = this.#subscription?.hasSettled(snapshot.sequence) === false;
    this.#publishedMs = wasThere ? snapshot.publishedMs : undefined;
    this.#sentNumber = number;
    this.#sentKind = message.kind;
    this.#sent = snapshot.digest;
    this.#context.unanswered.start(this);
    return message;
  }

  #answered(held: string): void {
    this.#context.unanswered.cancel(this);
    this.#sentNumber = 0;
    this.#hold(held);
  }

  #announce(absence: Absence | undefined): AgentMessage | undefined {
    if (absence === undefined || absence === this.#announced) return undefined;
    this.#announced = absence;
    if (absence.policy === "empty") {
      this.#hold("");
      this.#uphold([]);
      this.#refused = "";
      this.#subscription?.pass();
    }
    return absence;
  }

  /** An agent that was told that there is nothing has to be told that there is, also if it is the same as before. */
  #returnFromAbsence(): void {
    if (this.#announced === undefined) return;
    this.#announced = undefined;
    this.#subscription?.forget();
  }

  /**
   * True while the agent knows of a newer version than there is here: no agent goes backwards because its proxy is behind. What a read says
   * is served whatever the agent knows; but if it says that the FeatureFlag was deleted, what is served on here is not what it says.
   */
  #holdBack({ isOfDeleted }: Subscription, newest: Snapshot): boolean {
    if (this.#resumed === undefined) return false;
    const isRead = this.#rereading === "done" && !isOfDeleted;
    if (isRead || !isNewer(this.#resumed, newest.version)) {
      this.#compared();
      return false;
    }
    if (this.#rereading === "no") {
      this.#rereading = "under way";
      this.#context.metrics.heldBack(1);
      this.#context.refresh(this.topic, () => {
        this.#reread();
        this.wake();
      });
    }
    return true;
  }

  #compared(): void {
    this.#resumed = undefined;
    this.#reread();
  }

  #reread(): void {
    if (this.#rereading === "under way") this.#context.metrics.heldBack(-1);
    this.#rereading = "done";
  }

  #hold(digest: string): void {
    this.#acks?.hold(this.#held, digest);
    this.#held = digest;
  }

  /** Takes the new ones before it lets the old ones go, so that one which stays is not forgotten in between. */
  #uphold(rejections: readonly (Rejection | undefined)[]): void {
    const before = this.#rejections;
    if (before.length === 0 && rejections.length === 0) return;
    this.#rejections = rejections.filter((rejection) => rejection !== undefined);
    for (const rejection of before) this.#acks?.release(rejection);
    this.#context.metrics.rejectedFlags(flagsOf(this.#rejections) - flagsOf(before));
  }
}

function flagsOf(rejections: readonly Rejection[]): number {
  return rejections.filter(({ flag }) => flag !== undefined).length;
}
