import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  AnnouncementReader,
  Follower,
  Interest,
  Keys,
  LeaseKeeper,
  Membership,
  OwnerLease,
  RecordCodec,
  RecordKeys,
  Records,
  RedisConnection,
  type InterestRequest,
  type BackplaneError,
} from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { aborted, errorCode, HeapRoom, RateLimitedLog, sleep, within } from "@bunting/runtime";
import type { SourceSink } from "../flag-source.js";
import type { BackplaneReport } from "./backplane-metrics.js";
import { countTopics, lateReasonOf, ownLease } from "./backplane-report.js";
import type { BackplaneSourceOptions } from "./backplane-source-options.js";
import { FollowedRefreshes } from "./followed-refreshes.js";
import { OwnerRequests } from "./owner-requests.js";
import { Ownership } from "./ownership.js";
import { readRecordKeys } from "./read-record-keys.js";
import { RecordWriter } from "./record-writer.js";
import { RedisHealth } from "./redis-health.js";
import type { ReplicatedShared } from "./replicated-shared.js";
import { ReplicatedTopic } from "./replicated-topic.js";
import { Reconciliation } from "./reconciliation.js";
import { TopicTable } from "./topic-table.js";

export interface ReplicatedTopicsOptions extends BackplaneSourceOptions {
  /** Redis has answered. */
  readonly onReached: () => void;
}

/** How often in a lease time a replica checks whether it should be the owner. */
const checksPerLease = 5;
/** An owner's confirmation of a topic is valid for this many comparison intervals. */
const comparisonsOfTrust = 3;
/** A topic stays wanted for this many comparison intervals after a replica last mentioned it. */
const comparisonsOfInterest = 4;
/** Time that a new owner needs to open its watches, after it has the lease. */
const openingMs = 2_000;
/** Time-out of giving the lease back: the process has only seconds to end. With a slow Redis, the lease expires instead. */
const releaseMs = 3_000;
/** Limit of log lines about single topics: peers can make the proxy watch many. */
const linesPerMinute = 20;

/**
 * The topics that replicas share through Redis. One replica, the owner, has the lease: it watches what any replica wants,
 * and writes it. The others follow Redis. The parts:
 * - who is the owner: Ownership (whether this replica wants the lease, takes it and gives it back), LeaseKeeper
 * - what others want: Interest and Reconciliation (mentioned in turn), OwnerRequests (asked at once)
 * - writing: RecordWriter; following: Follower (compares), AnnouncementReader (hears of edits), FollowedRefreshes
 * - whether Redis can be used: RedisHealth, by the heartbeats of Membership (which also lists the live replicas)
 *
 * Invariants:
 * - A replica may believe in a lease that has ended: Redis refuses its writes by their fence.
 * - No topic goes back: its sink receives only what is later in the topic's history, from a watch or from Redis.
 * - While Redis can't be used, every topic with subscribers is watched here.
 * - The connection ends last, after everything that writes through it, so that the lease can be given back.
 */
export class ReplicatedTopics {
  readonly #options: ReplicatedTopicsOptions;
  /** Unique per process: a restarted process of the same Pod must not continue under the lease of this one. */
  readonly #replica = `${hostname()}/${randomUUID().slice(0, 8)}`;
  readonly #topics: TopicTable;
  readonly #ownership: Ownership;
  readonly #connection: RedisConnection;
  readonly #keeper: LeaseKeeper;
  readonly #membership: Membership;
  readonly #follower: Follower;
  readonly #reader: AnnouncementReader;
  readonly #interest: Interest;
  readonly #ownerRequests: OwnerRequests;
  readonly #writer: RecordWriter;
  readonly #refreshes: FollowedRefreshes;
  readonly #redisHealth: RedisHealth;
  readonly #reconciliation: Reconciliation;
  readonly #log: RateLimitedLog;
  #recordKeys = RecordKeys.none;
  #lagMs: number | undefined;
  #isStopping = false;

  constructor(options: ReplicatedTopicsOptions) {
    const { source, backplane, context } = options;
    const { leaseMs, memberMs, compareMs, shards, announcements } = backplane;
    const replica = this.#replica;
    this.#options = options;
    this.#log = new RateLimitedLog(context.logger, context.clock);
    const keys = new Keys(backplane.keyPrefix);
    const connection = new RedisConnection({
      options: backplane,
      clientName: "bunting-proxy",
      context,
      onChange: (isUp) => this.#connectionChanged(isUp),
    });
    this.#connection = connection;
    const room = new HeapRoom(context.clock);
    const codec = new RecordCodec(backplane.maxDocumentBytes, () => this.#recordKeys, room, options.prepare);
    const records = new Records({ connection, keys, codec, shards, announcements, clock: context.clock });
    this.#keeper = new LeaseKeeper({
      ownerLease: new OwnerLease({ connection, keys, holder: replica, leaseMs, clock: context.clock }),
      ...{ leaseMs, clock: context.clock },
      onHeld: (lease) => void this.#ownership.acquired(lease),
      onLost: () => this.#ownership.lost(),
    });
    this.#membership = new Membership({
      ...{ connection, keys, member: replica, memberMs, clock: context.clock },
      onBeat: (failure) => {
        if (!this.#isStopping) this.#redisHealth.beaten(failure);
      },
    });
    this.#follower = new Follower({ records, room, compareMs, clock: context.clock });
    this.#reader = new AnnouncementReader({
      ...{ options: backplane, keys, context },
      onAnnounced: (topic, position) => {
        this.#follower.announced(topic, position);
        this.#refreshes.announced(topic);
      },
      onRequest: (topic, asked) => this.#asked(topic, asked),
      onGap: () => {
        this.#follower.compare();
        // Requests to the owner may have been missed as well.
        void this.#reconciliation.reconcile();
      },
    });
    const wantedMs = compareMs * comparisonsOfInterest;
    this.#interest = new Interest({ connection, keys, shards, announcements, wantedMs });
    this.#ownerRequests = new OwnerRequests(this.#interest);
    this.#writer = new RecordWriter({
      records,
      keeper: this.#keeper,
      context,
      onFenced: () => void this.#ownership.fenced(),
      onFailed: (topic, error) => this.#writeFailed(topic.key, error),
    });
    this.#refreshes = new FollowedRefreshes({ records, interest: this.#interest, clock: context.clock });
    this.#redisHealth = new RedisHealth({
      ...{ connection, context },
      stableMs: backplane.stableMs,
      onChange: () => this.#redisHealthChanged(),
    });
    const usesRedis = (): boolean => this.#redisHealth.usesRedis;
    const shared: ReplicatedShared<ReplicatedTopic> = {
      ...{ source, follower: this.#follower, context, usesRedis },
      lease: () => this.#ownership.lease,
      times: { answerMs: leaseMs + openingMs, freshMs: compareMs * comparisonsOfTrust },
      events: {
        onAnswered: (topic) => this.#answered(topic),
        onStale: () => this.#ownership.watchIsStale(),
        onRefused: (topic, error) => this.#recordRefused(topic, error),
        onRead: (topic) => this.#topics.forgetIdle(topic),
        onFollowed: (lagMs) => {
          this.#lagMs = lagMs;
          context.metrics.backplaneLag(lagMs);
        },
      },
    };
    this.#topics = new TopicTable({
      create: (key) => new ReplicatedTopic(key, shared),
      onForgotten: (topic) => this.#refreshes.drop(topic),
    });
    this.#ownership = new Ownership({
      ...{ topics: this.#topics, usesRedis, keeper: this.#keeper, context },
      ...{ interest: this.#interest, writer: this.#writer },
    });
    this.#reconciliation = new Reconciliation({
      ...{ topics: this.#topics, ownership: this.#ownership, compareMs, clock: context.clock },
      ...{ interest: this.#interest, writer: this.#writer },
    });
    context.metrics.backplaneReport(() => this.#report());
  }

  watch(key: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    if (signal.aborted) return;
    const topic = this.#topics.topic(key);
    topic.attach(sink, peer);
    if (this.#ownership.lease === undefined) this.#ownerRequests.send(topic, "watch");
    const leave = (): void => {
      // Another replica may want the topic: the owner watches it until the next reconciliation tells.
      if (this.#ownership.lease !== undefined) topic.isWantedElsewhere = true;
      topic.detach();
      this.#topics.forgetIdle(topic);
      this.#ownerRequests.forget(topic);
    };
    signal.addEventListener("abort", leave, { once: true });
  }

  refresh(key: TopicKey, done: () => void, peer?: unknown): () => void {
    const topic = this.#topics.find(key);
    if (topic === undefined) return () => undefined;
    const isOwn = topic.isWatched || !this.#redisHealth.usesRedis;
    return isOwn ? topic.refresh(done, peer) : this.#refreshes.claim(topic, peer, done);
  }

  /** False if the topic is watched here, or nobody has subscribed to it. */
  offerAgain = (key: TopicKey): boolean => this.#topics.find(key)?.offerAgain() === true;

  /** Shares topics until the signal aborts; then gives the lease back, so that another replica takes over at once. */
  async run(signal: AbortSignal): Promise<void> {
    const { keyFile, context } = this.#options;
    if (keyFile !== undefined) this.#recordKeys = await readRecordKeys(keyFile);
    const closing = new AbortController();
    // The writer runs on with the connection: `release` waits for its last records before it gives the lease back.
    const connected = Promise.all([this.#connection.run(closing.signal), this.#writer.run(closing.signal)]);
    this.#redisHealth.lost();
    try {
      const sharing = this.#share(signal);
      await Promise.race([sharing, aborted(signal)]);
      await within(releaseMs, sharing, context.clock);
    } finally {
      this.#isStopping = true;
      this.#redisHealth.stop();
      this.#topics.clear();
      closing.abort();
      await Promise.all([connected, this.#refreshes.stop()]);
    }
  }

  async #share(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#keeper.run(signal),
      this.#membership.run(signal),
      this.#follower.run(signal),
      this.#reader.run(signal),
      this.#check(signal),
      this.#reconciliation.run(signal),
    ]);
    if (this.#connection.isUp) await this.#ownership.release();
  }

  #report(): BackplaneReport {
    const { context, backplane } = this.#options;
    const nowMs = context.clock.monotonicMs();
    return {
      ...countTopics(this.#topics, {
        usesRedis: this.#redisHealth.usesRedis,
        isOwner: this.#ownership.lease !== undefined,
      }),
      ...(this.#lagMs === undefined ? {} : { lagMs: this.#lagMs }),
      ...{ ...lateReasonOf(this.#reader.failure, backplane.compareMs), ...this.#redisHealth.report },
      replica: this.#replica,
      replicas: this.#membership.members,
      ...ownLease(this.#keeper.held, { leaseMs: backplane.leaseMs, nowMs }),
    };
  }

  /** Another replica sent a request to the owner. */
  #asked(key: TopicKey, asked: InterestRequest): void {
    const topic = this.#ownership.wantedElsewhere(key);
    if (topic === undefined) return;
    const write = (): void => this.#writer.changed(topic);
    if (asked === "refresh") topic.refresh(write, topic.peerOfOthers);
    else if (topic.current !== undefined) write();
    // The first report is then written even if Redis holds the same record: the replica that asks learns that it is valid.
    else topic.isAsked = true;
  }

  #answered(topic: ReplicatedTopic): void {
    if (!topic.isRemote) this.#ownership.canRead();
    // The microtask runs after the topic has taken the report.
    queueMicrotask(() => this.#writer.changed(topic));
  }

  #recordRefused(topic: ReplicatedTopic, { code, message }: BackplaneError): void {
    const text = "a record in Redis can't be used: this replica watches the topic for itself";
    this.#log.warn("record", { topic: topic.key, code, reason: message }, text, linesPerMinute);
    // The owner is asked to read the topic, and to write its record again.
    this.#ownerRequests.send(topic, "refresh");
  }

  #writeFailed(topic: TopicKey, reason: Error): void {
    const fields = { topic, code: errorCode(reason), reason: reason.message };
    this.#log.warn("write", fields, "a record could not be written to Redis", linesPerMinute);
  }

  #connectionChanged(isUp: boolean): void {
    // At the end the connection closes on purpose: Redis has no outage.
    if (this.#isStopping) return;
    if (!isUp) {
      this.#redisHealth.lost();
      return;
    }
    // The heartbeat shows whether Redis also accepts writes; only then does RedisHealth count it as usable.
    this.#options.onReached();
    void this.#membership.beat().catch(withoutRedis);
    void this.#keeper.tend().catch(withoutRedis);
    this.#follower.compare();
    this.#ownerRequests.resend();
    void this.#reconciliation.reconcile();
  }

  #redisHealthChanged(): void {
    this.#ownership.want();
    this.#topics.settle();
    if (!this.#redisHealth.usesRedis) return;
    void this.#keeper.tend().catch(withoutRedis);
    void this.#reconciliation.reconcile();
  }

  /** Checks regularly whether this replica should want the lease, and which topics no owner has confirmed lately. */
  async #check(signal: AbortSignal): Promise<void> {
    const { context, backplane } = this.#options;
    while (!signal.aborted) {
      this.#ownership.want();
      for (const topic of this.#topics) topic.expire();
      void this.#follower.compareUnconfirmed();
      await sleep(backplane.leaseMs / checksPerLease, signal, context.clock);
    }
  }
}

function withoutRedis(): void {
  // The connection logs why Redis is away, and the next heartbeat, check or reconciliation tries again.
}
