import type { Identity } from "@bunting/identity";
import type { buntingSyncV1, TopicKey } from "@bunting/protocol";
import type { Starter, TransportSession } from "@bunting/rpc";
import type { ProxyError } from "../proxy-error.js";
import type { Snapshot } from "../snapshot/snapshot.js";
import type { FreshnessNotice } from "../topic/freshness-notice.js";
import type { Subscriber, Subscription } from "../topic/subscription.js";
import type { Tombstone } from "../topic/tombstone.js";
import { documentOf } from "../topic/topic-view.js";
import { bucketOf } from "../topic/trial-bucket.js";
import type { VersionAnswer } from "./agent-request.js";
import { AcknowledgedVersion, namedRefusals } from "./acknowledged-version.js";
import type { DueTopic } from "./due-topics.js";
import { ProxyTrials } from "./proxy-trials.js";
import { ResumeGuard, type HeldBack } from "./resume-guard.js";
import type { AgentMessage } from "./stream-messages.js";
import type { SubscriberOwner, TopicSubscriberContext } from "./subscriber-owner.js";
import { eventOf, next, nextDelivery, type TopicDelivery, type DeliveryEvent } from "./topic-delivery.js";

/** Histories sent in a row for ever newer versions; the next version is then sent without one. */
const maxHistories = 3;

/**
 * One topic of an agent's stream. `next` makes a message when the topic has its turn, from the newest version at that time; `answer` and `giveUp`
 * end the wait for an answer. What follows upon what is decided in `topic-delivery.ts`, and done here.
 *
 * Invariants:
 * - At most one version (snapshot, delta, "unchanged") is unanswered.
 * - `#held` is concluded from the agent's answers only, never from what was sent.
 * - While `#resumeGuard` is set, the agent may have a newer version than this proxy: it must not be sent backwards.
 */
export class TopicSubscriber implements Subscriber, Starter, DueTopic<TopicSubscriber> {
  readonly readsTombstones = true;
  readonly topic: TopicKey;
  isDue = false;
  nextDue: TopicSubscriber | undefined;
  readonly #context: TopicSubscriberContext<TopicSubscriber>;
  readonly #owner: SubscriberOwner<TopicSubscriber>;
  readonly #held = new AcknowledgedVersion();
  readonly #delivery: TopicDelivery = {
    state: "closed",
    number: 0,
    kind: "snapshot",
    digest: "",
    refused: "",
    announced: undefined,
  };
  #subscription: Subscription | undefined;
  #resumeGuard: ResumeGuard | undefined;
  /** Publication time of the snapshot being written, for the metric; undefined if it is older than the subscription. */
  #publishedMs: number | undefined;
  /** What was said last about the source; undefined if nothing was. */
  #toldFreshness: FreshnessNotice | undefined;
  /** Computed once: all agents of a topic are looked through each time that a trial of it is counted. */
  #bucket: number | undefined;
  /** Undefined until they are asked for. */
  #trials: ProxyTrials | undefined;
  /** The digest that the last history leads to, and the number of histories since the last version; undefined if none. */
  #sentHistory: { readonly to: string; readonly count: number } | undefined;

  constructor(
    context: TopicSubscriberContext<TopicSubscriber>,
    owner: SubscriberOwner<TopicSubscriber>,
    topic: TopicKey,
  ) {
    this.#context = context;
    this.#owner = owner;
    this.topic = topic;
  }

  get connection(): TransportSession {
    return this.#owner.connection;
  }

  get program(): string | undefined {
    return this.#owner.program;
  }

  get identity(): Identity | undefined {
    return this.#owner.identity;
  }

  get readsFreshness(): boolean {
    return this.#owner.readsFreshness;
  }

  /** Undefined unless the peer is a proxy whose agents try versions. */
  get trials(): ProxyTrials | undefined {
    return this.#owner.readsTrials ? (this.#trials ??= new ProxyTrials(this.topic)) : undefined;
  }

  /** Starts to serve a subscription. `held` is the version that the agent resumes from. */
  open(subscription: Subscription, held: buntingSyncV1.Version | undefined): void {
    this.#subscription = subscription;
    this.#held.open(subscription.acks);
    this.#pass("open");
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
      this.#held.acknowledge(held.digest.toString("hex"));
    }
    this.wake();
  }

  wake(): void {
    this.#owner.due(this);
  }

  refuse(error: ProxyError): void {
    this.#owner.ended(this, error);
  }

  get subscription(): Subscription | undefined {
    return this.#subscription;
  }

  get bucket(): number | undefined {
    const { instance } = this.#owner;
    if (instance === undefined) return undefined;
    return (this.#bucket ??= bucketOf(this.topic, instance));
  }

  move(to: Subscription): void {
    const from = this.#subscription;
    this.#subscription = to;
    this.#context.metrics.rejectedFlags(this.#held.move(this.connection, to.acks, to.takesComplaints));
    // What it refused may be due there once more, and counts anew.
    this.#delivery.refused = "";
    from?.close();
    this.wake();
  }

  get lastDigest(): string {
    return this.#held.lastDigest;
  }

  start(): void {
    this.#pass("start");
    this.wake();
  }

  /** True if there is a newer version than the unanswered one. */
  get isBehind(): boolean {
    const newest = this.#subscription?.view.snapshot;
    const { state, digest } = this.#delivery;
    return state === "unanswered" && newest !== undefined && newest.digest !== digest;
  }

  /** The next message, which counts as sent under this number of the stream. Undefined if there is nothing to send. */
  next(number: number): AgentMessage | undefined {
    const subscription = this.#subscription;
    if (subscription === undefined) return undefined;
    for (;;) {
      const { view, due } = subscription;
      switch (nextDelivery(this.#delivery, subscription, this.#heldBack(subscription))) {
        case "nothing":
          return undefined;
        case "return":
          this.#delivery.announced = undefined;
          this.#pass("return");
          break;
        case "start":
          this.#enterQueue(view.snapshot);
          break;
        case "settle":
          subscription.settle();
          break;
        case "version":
          return (
            this.#history(due) ??
            this.trials?.first(subscription, this.#held.digest) ??
            this.#send(due, number)
          );
        case "tombstone":
          return this.#announce(view.tombstone);
        case "freshness":
          return this.#freshness(subscription.freshness) ?? this.trials?.next(subscription);
      }
    }
  }

  /** The message from `next` has been written. The agent's time begins now: a large document takes longer than that over a slow link. */
  written(): void {
    if (this.#delivery.state === "unanswered") this.#context.unanswered.start(this);
    if (this.#publishedMs === undefined) return;
    this.#context.metrics.fannedOut(this.#context.clock.monotonicMs() - this.#publishedMs);
    this.#publishedMs = undefined;
  }

  /**
   * Takes the agent's answer to a message. Late and repeated answers are ignored, but for what an agent finds of a version that it tries.
   *
   * @param lastNumber number of the last message of the stream
   * @returns false if the answer fits no message that was sent
   */
  answer(answer: VersionAnswer, lastNumber: number): boolean {
    const { value } = answer;
    const digest = ("digest" in value ? value.digest : value.heldDigest).toString("hex");
    const event = eventOf(this.#delivery, answer, digest, lastNumber);
    if (event === "wrong" || event === "late") return event === "late";
    if (event === "revise") {
      if (this.#subscription?.takesComplaints === true) this.#pass(event, digest, answer);
      return true;
    }
    if (event !== "ack") this.#context.metrics.nacked(event === "nack" ? "refused" : event);
    this.#pass(event, digest, answer);
    this.wake();
    return true;
  }

  /** The agent did not answer in time: its version is unknown from now on. */
  giveUp(): void {
    this.#context.metrics.ackTimedOut();
    this.#pass("timeout");
    this.wake();
  }

  /** Leaves the topic. May be called again. */
  close(): void {
    if (this.#subscription === undefined) return;
    if (this.#delivery.state === "queued") this.#context.startQueue?.leave(this);
    this.#context.metrics.agentSubscriptions(-1);
    this.#passResumeGuard();
    this.#pass("close");
    this.#subscription.close();
    this.#subscription = undefined;
  }

  /** Does what the table of transitions says of an event. */
  #pass(event: DeliveryEvent, named = "", answer?: VersionAnswer): void {
    const delivery = this.#delivery;
    const transition = next(delivery.state, event);
    if (transition === undefined) return;
    const { to, held, refused, cursor, rejections } = transition;
    if (delivery.state === "unanswered") this.#context.unanswered.cancel(this);
    if (to !== undefined) delivery.state = to;
    if (held === "lost") this.#held.lose();
    else if (held !== undefined)
      this.#held.acknowledge(held === "sent" ? delivery.digest : held === "named" ? named : "");
    if (refused !== undefined) delivery.refused = refused === "sent" ? delivery.digest : "";
    if (cursor === "back") this.#subscription?.retake();
    else if (cursor === "skip") this.#subscription?.skip();
    if (rejections === undefined) return;
    const refusals = answer === undefined ? [] : namedRefusals(answer);
    const more = this.#held.refuse(this.connection, delivery.digest, refusals);
    if (more !== 0) this.#context.metrics.rejectedFlags(more);
  }

  #heldBack({ view, freshness }: Subscription): HeldBack {
    if (this.#resumeGuard === undefined) return "nothing";
    // Agents that do not read `freshness` are not woken when the topic is fresh again: they would be held back for good.
    const isStale = this.readsFreshness && freshness?.reason !== undefined;
    const heldBack = this.#resumeGuard.heldBack(view, isStale);
    if (heldBack === "nothing" && documentOf(view) !== undefined) this.#passResumeGuard();
    return heldBack;
  }

  #passResumeGuard(): void {
    this.#resumeGuard?.close();
    this.#resumeGuard = undefined;
  }

  /** Small first messages do not wait for a turn. */
  #enterQueue(newest: Snapshot | undefined): void {
    const { startQueue } = this.#context;
    const isSmall = newest?.topicFrames.from(this.#held.digest).kind !== "snapshot";
    this.#pass(startQueue === undefined || isSmall || startQueue.enter(this) ? "start" : "queue");
  }

  /**
   * The history that another proxy receives before a version. If a newer version comes before this one is sent, a history of
   * the newer one goes first, at most `maxHistories` times.
   */
  #history(snapshot: Snapshot | undefined): AgentMessage | undefined {
    if (!this.#owner.isProxy || snapshot === undefined) return undefined;
    const { to, count } = this.#sentHistory ?? { to: "", count: 0 };
    if (snapshot.digest === to || count >= maxHistories) return undefined;
    const frame = snapshot.topicFrames.historyFrom(this.#held.digest);
    if (frame === undefined) return undefined;
    this.#sentHistory = { to: snapshot.digest, count: count + 1 };
    return { kind: "history", frame };
  }

  #send(snapshot: Snapshot | undefined, number: number): AgentMessage | undefined {
    if (snapshot === undefined) return undefined;
    const message = snapshot.topicFrames.from(this.#held.digest);
    this.#subscription?.take(snapshot);
    this.#sentHistory = undefined;
    // The age of a snapshot from before the subscription says nothing about our speed.
    const wasThere = this.#subscription?.hasSettled(snapshot.sequence) === false;
    this.#publishedMs = wasThere ? snapshot.publishedMs : undefined;
    this.#pass("send");
    this.#delivery.number = number;
    this.#delivery.kind = message.kind;
    this.#delivery.digest = snapshot.digest;
    return message;
  }

  #announce(tombstone: Tombstone | undefined): AgentMessage | undefined {
    this.#delivery.announced = tombstone;
    if (tombstone?.policy === "empty") this.#pass("clear");
    return tombstone;
  }

  /** Whether the source can be followed, if that has changed; it could before anything was said. */
  #freshness(freshness: FreshnessNotice | undefined): AgentMessage | undefined {
    const told = this.#toldFreshness;
    if (freshness === told || !this.readsFreshness) return undefined;
    this.#toldFreshness = freshness;
    return freshness?.says(told?.reason) === false ? freshness : undefined;
  }
}
