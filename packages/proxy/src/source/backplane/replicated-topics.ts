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
import { OwnerQuestions } from "./owner-questions.js";
import { readRecordKeys } from "./read-record-keys.js";
import { RecordWriter } from "./record-writer.js";
import { Reliance } from "./reliance.js";
import type { ReplicatedShared } from "./replicated-shared.js";
import type { ReplicatedTopic } from "./replicated-topic.js";
import { Rounds } from "./rounds.js";
import { UnitLeases } from "./unit-leases.js";
import { Units } from "./units.js";

export interface ReplicatedTopicsOptions extends BackplaneSourceOptions {
  /** Redis has answered. */
  readonly onReached: () => void;
}

/** How many times in the life of a lease this replica looks whether something is to be done. */
const looksPerLease = 5;
/** What an owner confirmed counts for so many comparisons. */
const comparisonsOfTrust = 3;
/** A topic stays wanted for so many comparisons after the last replica has mentioned it. */
const comparisonsOfInterest = 4;
/** Besides the life of a lease, what a new owner needs to open its watches. */
const openingMs = 2_000;
/** How long it may take to say good-bye to a Redis that is slow; others take over at the end of the leases. The whole process has seconds to end. */
const goodbyeMs = 3_000;
/** Peers can make the proxy watch many topics: lines about single ones are few. */
const linesPerMinute = 20;

/**
 * What replicas share of their topics. For each unit (a namespace, or all), one replica has the lease: it watches what any of them wants, and
 * writes it; the others follow. A replica that does not rely on Redis for now watches for itself.
 *
 * Nothing here trusts a lease to be in force: Redis refuses what is written under one that has ended. And nothing here goes back: each topic
 * tells its sink only what is later in its history, whoever says it.
 */
export class ReplicatedTopics {
  readonly #options: ReplicatedTopicsOptions;
  /** Another process of the same Pod must not go on under the numbers of this one. */
  readonly #replica = `${hostname()}/${randomUUID().slice(0, 8)}`;
  readonly #units: Units;
  readonly #unitLeases: UnitLeases;
  readonly #connection: RedisConnection;
  readonly #keeper: LeaseKeeper;
  readonly #membership: Membership;
  readonly #follower: Follower;
  readonly #reader: AnnouncementReader;
  readonly #interest: Interest;
  readonly #questions: OwnerQuestions;
  readonly #writer: RecordWriter;
  readonly #refreshes: FollowedRefreshes;
  readonly #reliance: Reliance;
  readonly #rounds: Rounds;
  readonly #log: RateLimitedLog;
  readonly #shared: ReplicatedShared<ReplicatedTopic>;
  #recordKeys = RecordKeys.none;
  /** Names of units of which a watch has gone stale in this turn of the event loop. */
  readonly #blinded = new Set<string>();
  #lagMs: number | undefined;
  #isTaking = false;
  #isStopping = false;

  constructor(options: ReplicatedTopicsOptions) {
    const { source, backplane, clock, logger, metrics } = options;
    const { leaseMs, memberMs, compareMs, shards, announcements } = backplane;
    const replica = this.#replica;
    this.#options = options;
    this.#log = new RateLimitedLog(logger, clock);
    const keys = new Keys(backplane.keyPrefix);
    const connection = new RedisConnection({
      options: backplane,
      clientName: "bunting-proxy",
      clock,
      logger,
      onChange: (isUp) => this.#connectionChanged(isUp),
    });
    this.#connection = connection;
    const room = new HeapRoom(clock);
    const codec = new RecordCodec(backplane.maxDocumentBytes, () => this.#recordKeys, room, options.prepare);
    const records = new Records({ connection, keys, codec, shards, announcements, clock });
    const leases = new Leases({ connection, keys, holder: replica, leaseMs, clock });
    this.#keeper = new LeaseKeeper({
      leases,
      leaseMs,
      clock,
      onHeld: (lease) => void this.#unitLeases.held(lease),
      onLost: (name) => this.#unitLeases.lost(name),
      onHandOverRequested: (lease, by) => void this.#unitLeases.handOver(lease, by),
    });
    this.#membership = new Membership({
      ...{ connection, keys, member: replica, memberMs, clock },
      onChange: (members) => this.#unitLeases.membersChanged(members),
      onBeat: (failure) => {
        if (!this.#isStopping) this.#reliance.beaten(failure);
      },
    });
    this.#follower = new Follower({ records, room, compareMs, clock });
    this.#reader = new AnnouncementReader({
      ...{ options: backplane, keys, clock, logger },
      onAnnounced: (topic, position) => {
        this.#follower.announced(topic, position);
        this.#refreshes.announced(topic);
      },
      onRequest: (topic, asked) => this.#asked(topic, asked),
      onGap: () => void this.#follower.compare(),
    });
    const wantedMs = compareMs * comparisonsOfInterest;
    this.#interest = new Interest({ connection, keys, shards, announcements, wantedMs });
    this.#questions = new OwnerQuestions(this.#interest);
    this.#writer = new RecordWriter({
      records,
      keeper: this.#keeper,
      metrics,
      onFenced: (unit) => void this.#unitLeases.fenced(unit),
      onFailed: (topic, error) => this.#writeFailed(topic.key, error),
    });
    this.#refreshes = new FollowedRefreshes({ records, interest: this.#interest, clock });
    this.#reliance = new Reliance({
      ...{ connection, clock, logger, metrics },
      stableMs: backplane.stableMs,
      onChange: () => this.#relianceChanged(),
    });
    this.#shared = {
      ...{ source, follower: this.#follower, clock, metrics },
      isRelied: () => this.#isRelied,
      answerMs: leaseMs + openingMs,
      freshMs: compareMs * comparisonsOfTrust,
      onAnswered: (topic) => this.#answered(topic),
      onStale: (topic) => this.#watchIsStale(topic),
      onRefused: (topic, error) => this.#recordRefused(topic, error),
      onFollowed: (lagMs) => {
        this.#lagMs = lagMs;
        metrics.backplaneLag(lagMs);
      },
    };
    this.#units = new Units({
      isClusterWide: options.isClusterWide,
      onEmpty: ({ name }) => void this.#keeper.drop(name).catch(withoutRedis),
      onForgotten: (topic) => this.#refreshes.forget(topic),
    });
    this.#unitLeases = new UnitLeases({
      ...{ units: this.#units, shared: this.#shared, replica, leases, leaseMs, clock, logger, metrics },
      ...{ keeper: this.#keeper, membership: this.#membership },
      ...{ interest: this.#interest, writer: this.#writer },
    });
    this.#rounds = new Rounds({
      ...{ units: this.#units, unitLeases: this.#unitLeases, compareMs, clock },
      ...{ interest: this.#interest, writer: this.#writer },
    });
    metrics.backplaneReport(() => this.#report());
  }

  watch(key: TopicKey, sink: SourceSink, signal: AbortSignal, asker?: unknown): void {
    if (signal.aborted) return;
    const topic = this.#units.topic(key, this.#shared);
    const unit = this.#units.unit(topic.unit.name);
    topic.attach(sink, asker);
    if (!unit.isHeld) this.#questions.ask(topic, "watch");
    this.#unitLeases.want(unit);
    this.#takeSoon();
    const leave = (): void => {
      // The next round finds out whether another replica wants it still.
      if (unit.isHeld) topic.isWantedElsewhere = true;
      topic.detach();
      this.#units.forgetIdle(topic);
      this.#questions.forget(topic);
    };
    signal.addEventListener("abort", leave, { once: true });
  }

  refresh(key: TopicKey, done: () => void, asker?: unknown): () => void {
    const topic = this.#units.find(key);
    if (topic === undefined) return () => undefined;
    if (topic.isWatched || !this.#isRelied) return topic.refresh(done, asker);
    return this.#refreshes.refresh(topic, done);
  }

  /** Shares until the signal aborts, and then gives back what it owns, so that others take over at once. */
  async run(signal: AbortSignal): Promise<void> {
    const { keyFile, clock } = this.#options;
    if (keyFile !== undefined) this.#recordKeys = await readRecordKeys(keyFile);
    // The connection outlasts those who say good-bye over it.
    const closing = new AbortController();
    const connected = this.#connection.run(closing.signal);
    this.#reliance.lost();
    try {
      const sharing = this.#share(signal);
      await Promise.race([sharing, aborted(signal)]);
      await within(goodbyeMs, sharing, clock);
    } finally {
      this.#isStopping = true;
      this.#reliance.stop();
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
      this.#look(signal),
      this.#rounds.run(signal),
    ]);
    if (this.#connection.isUp) await this.#unitLeases.giveBack();
  }

  get #isRelied(): boolean {
    return this.#reliance.isRelied;
  }

  #report(): BackplaneReport {
    const { clock, backplane } = this.#options;
    const nowMs = clock.monotonicMs();
    return {
      ...countTopics(this.#units.topics(), this.#isRelied),
      ...(this.#lagMs === undefined ? {} : { lagMs: this.#lagMs }),
      ...{ ...lateReasonOf(this.#reader.failure, backplane.compareMs), ...this.#reliance.report },
      replica: this.#replica,
      replicas: this.#membership.members,
      others: otherUnits(this.#units),
      owned: ownedUnits(this.#units, this.#keeper, { leaseMs: backplane.leaseMs, nowMs }),
    };
  }

  /** Takes what is free at once: the first subscriber of a namespace waits for it. */
  #takeSoon(): void {
    if (this.#isTaking) return;
    this.#isTaking = true;
    queueMicrotask(() => {
      this.#isTaking = false;
      if (this.#connection.isUp) void this.#keeper.tend().catch(withoutRedis);
    });
  }

  /** A replica asks the owner of a topic. */
  #asked(key: TopicKey, asked: InterestRequest): void {
    const topic = this.#unitLeases.wantedElsewhere(key);
    if (topic?.unit.lease === undefined) return;
    const write = (): void => this.#writer.changed(topic);
    if (asked === "refresh") topic.refresh(write, topic.unit);
    else if (topic.current !== undefined) write();
    // Redis may hold it already, from long ago: who asks has to learn that it is still so.
    else topic.isAsked = true;
  }

  #answered(topic: ReplicatedTopic): void {
    const unit = this.#units.get(topic.unit);
    if (unit !== undefined) this.#unitLeases.able(unit);
    // After the topic has taken it.
    queueMicrotask(() => this.#writer.changed(topic));
  }

  /** When an API server goes away, the topics of a unit go stale together: whether all are is found out once. */
  #watchIsStale({ unit: { name } }: ReplicatedTopic): void {
    if (this.#blinded.has(name)) return;
    this.#blinded.add(name);
    queueMicrotask(() => {
      this.#blinded.delete(name);
      const unit = this.#units.get({ name });
      if (unit !== undefined) void this.#unitLeases.blind(unit);
    });
  }

  #recordRefused(topic: ReplicatedTopic, { code, message }: BackplaneError): void {
    const text = "a record in Redis can't be used: this replica watches the topic for itself";
    this.#log.warn("record", { topic: topic.key, code, reason: message }, text, linesPerMinute);
    // Its owner may be able to write it once more.
    this.#questions.ask(topic, "refresh");
  }

  #writeFailed(topic: TopicKey, reason: Error): void {
    const fields = { topic, code: errorCode(reason), reason: reason.message };
    this.#log.warn("write", fields, "a record could not be written to Redis", linesPerMinute);
  }

  #connectionChanged(isUp: boolean): void {
    // At the end the connection is closed, and Redis is not away for that.
    if (this.#isStopping) return;
    if (!isUp) {
      this.#reliance.lost();
      return;
    }
    // Whether it works as well shows with the next beat.
    this.#options.onReached();
    void this.#membership.beat().catch(withoutRedis);
    void this.#keeper.tend().catch(withoutRedis);
    void this.#follower.compare();
    this.#questions.askAgain();
    void this.#rounds.go();
  }

  #relianceChanged(): void {
    for (const unit of this.#units) {
      this.#unitLeases.want(unit);
      unit.settle();
    }
    if (this.#isRelied) void this.#rounds.go();
  }

  /** Looks from time to time who should own what, and whether somebody does. */
  async #look(signal: AbortSignal): Promise<void> {
    const { clock, backplane } = this.#options;
    while (!signal.aborted) {
      for (const unit of this.#units) this.#unitLeases.want(unit);
      for (const topic of this.#units.topics()) topic.expire();
      void this.#follower.compareUnconfirmed();
      await sleep(backplane.leaseMs / looksPerLease, signal, clock);
    }
  }
}

function withoutRedis(): void {
  // Nothing can be said to it; the connection says why, and the next round repeats what matters.
}
