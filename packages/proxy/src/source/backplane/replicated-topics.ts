import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  AnnouncementReader,
  Follower,
  Interest,
  Keys,
  LeaseKeeper,
  Leases,
  Membership,
  RecordCodec,
  RecordKeys,
  Records,
  RedisConnection,
  type InterestRequest,
  type BackplaneError,
} from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { aborted, errorCode, RateLimitedLog, sleep, within } from "@bunting/runtime";
import type { SourceSink } from "../flag-source.js";
import { HeapRoom } from "../heap-room.js";
import type { BackplaneReport } from "./backplane-metrics.js";
import { countTopics, lateReasonOf, otherUnits, ownedUnits } from "./backplane-report.js";
import type { BackplaneSourceOptions } from "./backplane-source-options.js";
import { FollowedRefreshes } from "./followed-refreshes.js";
import { OwnerRequests } from "./owner-requests.js";
import { readRecordKeys } from "./read-record-keys.js";
import { RecordWriter } from "./record-writer.js";
import { RedisHealth } from "./redis-health.js";
import type { ReplicatedShared } from "./replicated-shared.js";
import type { ReplicatedTopic } from "./replicated-topic.js";
import { Reconciliation } from "./reconciliation.js";
import { OwnershipLeases } from "./ownership-leases.js";
import { OwnershipUnits } from "./ownership-units.js";

export interface ReplicatedTopicsOptions extends BackplaneSourceOptions {
  /** Redis has answered. */
  readonly onReached: () => void;
}

/** Checks of what this replica should own, per lease time. */
const checksPerLease = 5;
/** An owner's confirmation is valid for so many comparison intervals. */
const comparisonsOfTrust = 3;
/** A topic stays wanted for so many comparison intervals after a replica last mentioned it. */
const comparisonsOfInterest = 4;
/** Time that a new owner needs to open its watches, after it has the lease. */
const openingMs = 2_000;
/** Time-out of giving the leases back to a slow Redis, because the process has seconds to end. Leases then expire. */
const releaseMs = 3_000;
/** Limit of log lines about single topics: peers can make the proxy watch many. */
const linesPerMinute = 20;

/**
 * The topics that replicas share through Redis. For each ownership unit (a namespace, or the whole cluster) one replica
 * has the lease: it watches what any replica wants, and writes it. The others follow Redis. The parts:
 * - who owns: OwnershipLeases (which leases this replica wants, takes and gives back), Membership (the live replicas)
 * - what others want: Interest and Reconciliation (mentioned in turn), OwnerRequests (asked at once)
 * - writing: RecordWriter; following: Follower (compares), AnnouncementReader (hears of edits), FollowedRefreshes
 * - whether Redis can be used: RedisHealth
 *
 * Invariants:
 * - No lease is trusted to be in force: Redis refuses writes under a lease that has ended.
 * - No topic goes back: its sink receives only what is later in the topic's history, whoever reported it.
 * - While Redis can't be used, every topic with subscribers is watched here.
 * - The connection outlasts all that write through it, so that leases can be given back at the end.
 */
export class ReplicatedTopics {
  readonly #options: ReplicatedTopicsOptions;
  /** Unique per process: a restarted process of the same Pod must not continue under the leases of this one. */
  readonly #replica = `${hostname()}/${randomUUID().slice(0, 8)}`;
  readonly #units: OwnershipUnits;
  readonly #ownershipLeases: OwnershipLeases;
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
  readonly #shared: ReplicatedShared<ReplicatedTopic>;
  #recordKeys = RecordKeys.none;
  /** Names of ownership units of which a watch has become stale in this turn of the event loop. */
  readonly #unreadable = new Set<string>();
  #lagMs: number | undefined;
  #isTaking = false;
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
    const leases = new Leases({ connection, keys, holder: replica, leaseMs, clock: context.clock });
    this.#keeper = new LeaseKeeper({
      leases,
      leaseMs,
      clock: context.clock,
      onHeld: (lease) => void this.#ownershipLeases.acquired(lease),
      onLost: (name) => this.#ownershipLeases.lost(name),
      onHandOverRequested: (lease, by) => void this.#ownershipLeases.handOver(lease, by),
    });
    this.#membership = new Membership({
      ...{ connection, keys, member: replica, memberMs, clock: context.clock },
      onChange: (members) => this.#ownershipLeases.membersChanged(members),
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
      onGap: () => this.#follower.compare(),
    });
    const wantedMs = compareMs * comparisonsOfInterest;
    this.#interest = new Interest({ connection, keys, shards, announcements, wantedMs });
    this.#ownerRequests = new OwnerRequests(this.#interest);
    this.#writer = new RecordWriter({
      records,
      keeper: this.#keeper,
      context,
      onFenced: (unit) => void this.#ownershipLeases.fenced(unit),
      onFailed: (topic, error) => this.#writeFailed(topic.key, error),
    });
    this.#refreshes = new FollowedRefreshes({ records, interest: this.#interest, clock: context.clock });
    this.#redisHealth = new RedisHealth({
      ...{ connection, context },
      stableMs: backplane.stableMs,
      onChange: () => this.#redisHealthChanged(),
    });
    this.#shared = {
      ...{ source, follower: this.#follower, context },
      usesRedis: () => this.#usesRedis,
      times: { answerMs: leaseMs + openingMs, freshMs: compareMs * comparisonsOfTrust },
      events: {
        onAnswered: (topic) => this.#answered(topic),
        onStale: (topic) => this.#watchIsStale(topic),
        onRefused: (topic, error) => this.#recordRefused(topic, error),
        onFollowed: (lagMs) => {
          this.#lagMs = lagMs;
          context.metrics.backplaneLag(lagMs);
        },
      },
    };
    this.#units = new OwnershipUnits({
      isClusterWide: options.isClusterWide,
      onEmpty: ({ name }) => void this.#keeper.drop(name).catch(withoutRedis),
      onForgotten: (topic) => this.#refreshes.forget(topic),
    });
    this.#ownershipLeases = new OwnershipLeases({
      ...{ units: this.#units, shared: this.#shared, replica, leases, leaseMs, context },
      ...{ keeper: this.#keeper, membership: this.#membership },
      ...{ interest: this.#interest, writer: this.#writer },
    });
    this.#reconciliation = new Reconciliation({
      ...{ units: this.#units, ownershipLeases: this.#ownershipLeases, compareMs, clock: context.clock },
      ...{ interest: this.#interest, writer: this.#writer },
    });
    context.metrics.backplaneReport(() => this.#report());
  }

  watch(key: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    if (signal.aborted) return;
    const topic = this.#units.topic(key, this.#shared);
    const unit = this.#units.unit(topic.ownershipUnit.name);
    topic.attach(sink, peer);
    if (!unit.isOwned) this.#ownerRequests.send(topic, "watch");
    this.#ownershipLeases.want(unit);
    this.#takeSoon();
    const leave = (): void => {
      // Until the next reconciliation, another replica may still want it.
      if (unit.isOwned) topic.isWantedElsewhere = true;
      topic.detach();
      this.#units.forgetIdle(topic);
      this.#ownerRequests.forget(topic);
    };
    signal.addEventListener("abort", leave, { once: true });
  }

  refresh(key: TopicKey, done: () => void, peer?: unknown): () => void {
    const topic = this.#units.find(key);
    if (topic === undefined) return () => undefined;
    if (topic.isWatched || !this.#usesRedis) return topic.refresh(done, peer);
    return this.#refreshes.refresh(topic, done);
  }

  /** Shares until the signal aborts, and then gives its leases back, so that other replicas take over at once. */
  async run(signal: AbortSignal): Promise<void> {
    const { keyFile, context } = this.#options;
    if (keyFile !== undefined) this.#recordKeys = await readRecordKeys(keyFile);
    const closing = new AbortController();
    const connected = Promise.all([
      this.#connection.run(closing.signal),
      // Until the leases were given back: what is known by then is written before.
      this.#writer.run(closing.signal),
    ]);
    this.#redisHealth.lost();
    try {
      const sharing = this.#share(signal);
      await Promise.race([sharing, aborted(signal)]);
      await within(releaseMs, sharing, context.clock);
    } finally {
      this.#isStopping = true;
      this.#redisHealth.stop();
      this.#units.clear();
      closing.abort();
      await connected;
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
    if (this.#connection.isUp) await this.#ownershipLeases.releaseAll();
  }

  get #usesRedis(): boolean {
    return this.#redisHealth.usesRedis;
  }

  #report(): BackplaneReport {
    const { context, backplane } = this.#options;
    const nowMs = context.clock.monotonicMs();
    return {
      ...countTopics(this.#units.topics(), this.#usesRedis),
      ...(this.#lagMs === undefined ? {} : { lagMs: this.#lagMs }),
      ...{ ...lateReasonOf(this.#reader.failure, backplane.compareMs), ...this.#redisHealth.report },
      replica: this.#replica,
      replicas: this.#membership.members,
      others: otherUnits(this.#units),
      owned: ownedUnits(this.#units, this.#keeper, { leaseMs: backplane.leaseMs, nowMs }),
    };
  }

  /** Takes free leases at once: the first subscriber of a namespace waits for that. */
  #takeSoon(): void {
    if (this.#isTaking) return;
    this.#isTaking = true;
    queueMicrotask(() => {
      this.#isTaking = false;
      if (this.#connection.isUp) void this.#keeper.tend().catch(withoutRedis);
    });
  }

  /** Another replica sent a request to the owner of a topic. */
  #asked(key: TopicKey, asked: InterestRequest): void {
    const topic = this.#ownershipLeases.wantedElsewhere(key);
    if (topic?.ownershipUnit.lease === undefined) return;
    const write = (): void => this.#writer.changed(topic);
    if (asked === "refresh") topic.refresh(write, topic.ownershipUnit);
    else if (topic.current !== undefined) write();
    // Redis may hold the same record from long ago: the replica that asks has to learn that it is still valid.
    else topic.isAsked = true;
  }

  #answered(topic: ReplicatedTopic): void {
    const unit = this.#units.get(topic.ownershipUnit);
    if (unit !== undefined) this.#ownershipLeases.canRead(unit);
    // In a microtask, so that the topic has taken the report by then.
    queueMicrotask(() => this.#writer.changed(topic));
  }

  /** When an API server goes away, all topics of a unit become stale together: the unit is checked once for all. */
  #watchIsStale({ ownershipUnit: { name } }: ReplicatedTopic): void {
    if (this.#unreadable.has(name)) return;
    this.#unreadable.add(name);
    queueMicrotask(() => {
      this.#unreadable.delete(name);
      const unit = this.#units.get({ name });
      if (unit !== undefined) void this.#ownershipLeases.cannotRead(unit);
    });
  }

  #recordRefused(topic: ReplicatedTopic, { code, message }: BackplaneError): void {
    const text = "a record in Redis can't be used: this replica watches the topic for itself";
    this.#log.warn("record", { topic: topic.key, code, reason: message }, text, linesPerMinute);
    // The owner may be able to write it again.
    this.#ownerRequests.send(topic, "refresh");
  }

  #writeFailed(topic: TopicKey, reason: Error): void {
    const fields = { topic, code: errorCode(reason), reason: reason.message };
    this.#log.warn("write", fields, "a record could not be written to Redis", linesPerMinute);
  }

  #connectionChanged(isUp: boolean): void {
    // The connection is closed at the end: that is no outage of Redis.
    if (this.#isStopping) return;
    if (!isUp) {
      this.#redisHealth.lost();
      return;
    }
    // Whether Redis also accepts writes shows with the next heartbeat.
    this.#options.onReached();
    void this.#membership.beat().catch(withoutRedis);
    void this.#keeper.tend().catch(withoutRedis);
    this.#follower.compare();
    this.#ownerRequests.resend();
    void this.#reconciliation.reconcile();
  }

  #redisHealthChanged(): void {
    for (const unit of this.#units) {
      this.#ownershipLeases.want(unit);
      unit.settle();
    }
    if (this.#usesRedis) void this.#reconciliation.reconcile();
  }

  /** Checks regularly which leases this replica should want, and which topics no owner has confirmed lately. */
  async #check(signal: AbortSignal): Promise<void> {
    const { context, backplane } = this.#options;
    while (!signal.aborted) {
      for (const unit of this.#units) this.#ownershipLeases.want(unit);
      for (const topic of this.#units.topics()) topic.expire();
      void this.#follower.compareUnconfirmed();
      await sleep(backplane.leaseMs / checksPerLease, signal, context.clock);
    }
  }
}

function withoutRedis(): void {
  // The connection logs why Redis is away, and the next reconciliation repeats what matters.
}
