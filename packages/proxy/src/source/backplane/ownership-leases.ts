import type { Interest, Lease, LeaseKeeper, Leases, Membership } from "@bunting/backplane";
import { Rendezvous } from "@bunting/backplane";
import { isNamespaceName, isObjectName, type TopicKey } from "@bunting/protocol";
import { nextTurn, within, type Context } from "@bunting/runtime";
import type { BackplaneMetrics } from "./backplane-metrics.js";
import type { RecordWriter } from "./record-writer.js";
import type { ReplicatedShared } from "./replicated-shared.js";
import type { ReplicatedTopic } from "./replicated-topic.js";
import type { OwnershipUnit } from "./ownership-unit.js";
import type { OwnershipUnits } from "./ownership-units.js";

export interface OwnershipLeasesOptions {
  readonly units: OwnershipUnits;
  readonly shared: ReplicatedShared<ReplicatedTopic>;
  /** This process, as other replicas know it. */
  readonly replica: string;
  readonly leases: Pick<Leases, "handOver">;
  readonly keeper: Pick<LeaseKeeper, "want" | "drop">;
  readonly membership: Pick<Membership, "members">;
  readonly interest: Pick<Interest, "list">;
  readonly writer: Pick<RecordWriter, "changed" | "settled">;
  readonly leaseMs: number;
  readonly context: Context<Pick<BackplaneMetrics, "backplaneLease">>;
  /** Limit of all units together; default 40,000, fewer in tests. */
  readonly maxTopics?: number;
}

/** An owner that can't read the API server wants no lease for so long, unless it can read again sooner. */
const cannotReadMs = 30_000;

/**
 * Limit of topics, in all units together, above which this replica takes on none for other replicas; they watch these for
 * themselves. It is twice what may be wanted of one unit. A topic takes some 8 KB even if its FeatureFlag does not exist.
 */
const mostTopics = 40_000;
const topicsAtOnce = 256;

/**
 * Decides which ownership units this replica wants to own, watches for all replicas while it owns them, and hands them
 * over without a gap.
 *
 * A unit without a lease is wanted while it has subscribers here. The preferred owner (by rendezvous hashing over the live
 * members) first opens all watches of the unit (`isPrewarming`), and only then asks the present owner to hand over.
 */
export class OwnershipLeases {
  readonly #options: OwnershipLeasesOptions;
  #rendezvous = new Rendezvous([]);
  #isStopping = false;

  constructor(options: OwnershipLeasesOptions) {
    this.#options = options;
  }

  membersChanged(members: readonly string[]): void {
    this.#rendezvous = new Rendezvous(members);
  }

  /** Wants the lease of a unit with subscribers; asks for it if this replica is the preferred owner and has prewarmed. */
  want(unit: OwnershipUnit): void {
    const { keeper, shared, leaseMs } = this.#options;
    if (unit.isOwned || unit.isHandingOver || this.#isStopping) return;
    const nowMs = this.#nowMs();
    if (unit.cannotReadUntilMs !== undefined && nowMs >= unit.cannotReadUntilMs)
      unit.cannotReadUntilMs = undefined;
    if (!shared.usesRedis() || !unit.hasSubscribers || unit.cannotReadUntilMs !== undefined) {
      unit.preferredSinceMs = undefined;
      this.#prewarm(unit, false);
      // A lease still wanted would be taken at the next connection: an unsteady Redis would open and close watches.
      void this.#drop(unit);
      return;
    }
    unit.preferredSinceMs = this.#isPreferred(unit) ? (unit.preferredSinceMs ?? nowMs) : undefined;
    // In a rolling update, a replica would ask for leases that the next one takes from it.
    const isSettled = unit.preferredSinceMs !== undefined && nowMs - unit.preferredSinceMs >= leaseMs;
    this.#prewarm(unit, isSettled);
    keeper.want(unit.name, isSettled && unit.isPrewarmed);
  }

  /** The lease was acquired, or has a new fence. */
  async acquired(lease: Lease): Promise<void> {
    const { units, context, writer } = this.#options;
    const unit = units.unit(lease.name);
    unit.setLease(lease);
    context.metrics.backplaneLease("taken");
    context.logger.info({ unit: unit.name, fence: lease.fence }, "this replica watches for all replicas");
    for (const topic of unit.topics.values()) writer.changed(topic);
    await this.learnInterest(unit);
  }

  /** The lease has ended by itself, or another replica has it. */
  lost(name: string): void {
    const unit = this.#options.units.get({ name });
    if (unit?.isOwned !== true) return;
    const { logger, metrics } = this.#options.context;
    metrics.backplaneLease("lost");
    logger.warn({ unit: name }, "the lease has ended: another replica may watch now");
    this.#release(unit);
    this.want(unit);
  }

  /** Redis says that the lease is not in force. */
  async fenced(name: string): Promise<void> {
    const unit = this.#options.units.get({ name });
    if (unit?.isOwned !== true) return;
    this.lost(name);
    await this.#drop(unit);
    this.want(unit);
  }

  /** Another replica asks for the lease, and has read what it needs. */
  async handOver(lease: Lease, by: string): Promise<void> {
    const { units, leases, writer, context } = this.#options;
    const unit = units.get(lease);
    if (unit?.isOwned !== true || unit.isHandingOver) return;
    unit.isHandingOver = true;
    // Reports up to now are written under this lease; the next owner sees later ones itself.
    await writer.settled();
    const isGiven = await leases.handOver(lease, by).catch(() => false);
    if (!isGiven) {
      // The other replica or Redis is gone: the lease continues, or is found to have ended.
      unit.isHandingOver = false;
      return;
    }
    await this.#drop(unit);
    context.metrics.backplaneLease("handed_over");
    context.logger.info({ unit: unit.name, to: by }, "another replica watches from now on");
    this.#release(unit);
    this.want(unit);
  }

  /** A watch of the unit can't follow changes. If none can, the lease is left to another replica, which may be able to. */
  async cannotRead(unit: OwnershipUnit): Promise<void> {
    if (!unit.isOwned || unit.isHandingOver || !unit.cannotRead) return;
    const { logger, metrics } = this.#options.context;
    unit.cannotReadUntilMs = this.#nowMs() + cannotReadMs;
    metrics.backplaneLease("given_up");
    logger.warn({ unit: unit.name }, "nothing can be read here: the lease is left to other replicas");
    this.#release(unit);
    await this.#drop(unit);
  }

  /** A watch of the unit can read again. */
  canRead(unit: OwnershipUnit): void {
    if (unit.cannotReadUntilMs === undefined) return;
    unit.cannotReadUntilMs = undefined;
    this.want(unit);
  }

  /** Gives all leases back, so that other replicas take over at once. Never rejects. */
  async releaseAll(): Promise<void> {
    const { units, writer, leaseMs, context } = this.#options;
    this.#isStopping = true;
    // Nothing renews the leases any more: after one lease time they have expired.
    await within(leaseMs, writer.settled(), context.clock);
    await Promise.all([...units].filter(({ isOwned }) => isOwned).map((unit) => this.#drop(unit)));
  }

  /** Another replica wants the topic: it is watched from now on if this replica owns its unit, or prewarms it. */
  wantedElsewhere(key: TopicKey): ReplicatedTopic | undefined {
    const { units, shared, maxTopics = mostTopics } = this.#options;
    const unit = units.get({ name: units.nameOf(key) });
    if (unit === undefined || !(unit.isOwned || unit.isPrewarming)) return undefined;
    // Other programs may write to Redis, and each topic costs memory and a read of the API server.
    if (!unit.topics.has(key) && (units.size >= maxTopics || !isTopicKey(key))) return undefined;
    const topic = units.topic(key, shared);
    if (!topic.isWantedElsewhere) {
      topic.isWantedElsewhere = true;
      topic.settle();
    }
    return topic;
  }

  /** Watches the topics that other replicas mention, and ends the watches of others. Never rejects. */
  async learnInterest(unit: OwnershipUnit): Promise<void> {
    const { interest, units } = this.#options;
    // Without Redis there is nothing to learn; the next reconciliation tries again.
    const listed = await interest.list(unit.name).catch(() => undefined);
    if (listed === undefined || !(unit.isOwned || unit.isPrewarming)) return;
    for (const [index, key] of listed.entries()) {
      // Twenty thousand topics at once would block the event loop for seconds.
      if (index % topicsAtOnce === topicsAtOnce - 1) await nextTurn();
      if (units.nameOf(key) === unit.name) this.wantedElsewhere(key);
    }
    this.#dropUnwanted(unit, new Set(listed));
  }

  #isPreferred(unit: OwnershipUnit): boolean {
    const { membership, replica } = this.#options;
    return membership.members !== undefined && this.#rendezvous.ownerOf(unit.name) === replica;
  }

  #prewarm(unit: OwnershipUnit, isPrewarming: boolean): void {
    if (unit.isPrewarming === isPrewarming) return;
    unit.isPrewarming = isPrewarming;
    unit.settle();
    if (isPrewarming) void this.learnInterest(unit);
    else this.#dropUnwanted(unit, new Set());
  }

  #release(unit: OwnershipUnit): void {
    unit.setLease(undefined);
    this.#dropUnwanted(unit, new Set());
  }

  #dropUnwanted(unit: OwnershipUnit, wanted: ReadonlySet<TopicKey>): void {
    for (const topic of [...unit.topics.values()]) {
      if (!topic.isWantedElsewhere || wanted.has(topic.key)) continue;
      topic.isWantedElsewhere = false;
      topic.settle();
      this.#options.units.forgetIdle(topic);
    }
  }

  /** Without Redis the lease ends by itself. */
  async #drop({ name }: OwnershipUnit): Promise<void> {
    await this.#options.keeper.drop(name).catch(() => undefined);
  }

  #nowMs(): number {
    return this.#options.context.clock.monotonicMs();
  }
}

/** Keys from Redis are checked like those from subscribers, because other programs may write to Redis. */
function isTopicKey(key: string): boolean {
  const slash = key.indexOf("/");
  return isNamespaceName(key.slice(0, slash)) && isObjectName(key.slice(slash + 1));
}
