import type { Interest, Lease, LeaseKeeper } from "@bunting/backplane";
import type { TopicKey } from "@bunting/protocol";
import { nextTurn, type Context } from "@bunting/runtime";
import type { BackplaneMetrics } from "./backplane-metrics.js";
import type { RecordWriter } from "./record-writer.js";
import type { ReplicatedTopic } from "./replicated-topic.js";
import type { TopicTable } from "./topic-table.js";

export interface OwnershipOptions {
  readonly topics: TopicTable;
  readonly usesRedis: () => boolean;
  readonly keeper: Pick<LeaseKeeper, "want" | "drop">;
  readonly interest: Pick<Interest, "list">;
  readonly writer: Pick<RecordWriter, "changed" | "settled">;
  readonly context: Context<Pick<BackplaneMetrics, "backplaneLease">>;
}

/** A replica that can't read the API server does not want the lease for so long, unless it can read again sooner. */
const cannotReadMs = 30_000;

const topicsAtOnce = 256;

/**
 * Whether this replica is the owner: the one that has the lease, and watches what any replica wants. Every replica that
 * relies on Redis and can read the API server wants the lease; the first to find it free has it until it ends.
 */
export class Ownership {
  readonly #options: OwnershipOptions;
  #lease: Lease | undefined;
  #cannotReadUntilMs = -Infinity;
  /** A check whether any topic can be read is queued as a microtask. */
  #isReadCheckQueued = false;
  #isStopping = false;

  constructor(options: OwnershipOptions) {
    this.#options = options;
  }

  /** The lease while this replica is the owner. */
  get lease(): Lease | undefined {
    return this.#lease;
  }

  /** Has the lease acquired as soon as it is free, if this replica should be the owner then. */
  want(): void {
    const { keeper, usesRedis } = this.#options;
    if (this.#lease !== undefined || this.#isStopping) return;
    // A lease still wanted would be taken at the next connection: an unsteady Redis would open and close watches.
    if (usesRedis() && this.#nowMs() >= this.#cannotReadUntilMs) keeper.want();
    else void this.#drop();
  }

  async acquired(lease: Lease): Promise<void> {
    const { topics, context, writer } = this.#options;
    this.#lease = lease;
    context.metrics.backplaneLease("taken");
    context.logger.info({ fence: lease.fence }, "this replica watches for all replicas");
    topics.settle();
    for (const topic of topics) writer.changed(topic);
    await this.learnInterest();
  }

  /** The lease has ended by itself, or another replica has it. */
  lost(): void {
    if (this.#lease === undefined) return;
    const { logger, metrics } = this.#options.context;
    metrics.backplaneLease("lost");
    logger.warn("the lease has ended: another replica may watch now");
    this.#end();
    this.want();
  }

  /** Redis says that the lease is not in force. */
  async fenced(): Promise<void> {
    if (this.#lease === undefined) return;
    this.lost();
    await this.#drop();
    this.want();
  }

  /** A watch can't follow changes. Checks once for all topics that become stale in this turn, as they do when an API server goes away. */
  watchIsStale(): void {
    if (this.#isReadCheckQueued) return;
    this.#isReadCheckQueued = true;
    queueMicrotask(() => {
      this.#isReadCheckQueued = false;
      void this.cannotRead();
    });
  }

  /** If no watch can follow changes, the lease is left to another replica, which may be able to. */
  async cannotRead(): Promise<void> {
    const { topics, context } = this.#options;
    if (this.#lease === undefined || !topics.cannotRead) return;
    this.#cannotReadUntilMs = this.#nowMs() + cannotReadMs;
    context.metrics.backplaneLease("given_up");
    context.logger.warn("nothing can be read here: the lease is left to other replicas");
    this.#end();
    await this.#drop();
  }

  /** A watch can read again. */
  canRead(): void {
    if (this.#nowMs() >= this.#cannotReadUntilMs) return;
    this.#cannotReadUntilMs = -Infinity;
    this.want();
  }

  /** Gives the lease back, so that another replica takes over at once. Never rejects. */
  async release(): Promise<void> {
    this.#isStopping = true;
    // What is known is written first, or its last edit would reach nobody until the next owner has read it.
    await this.#options.writer.settled();
    await this.#drop();
    this.#lease = undefined;
  }

  /** Another replica wants the topic: it is watched from now on if this replica is the owner. */
  wantedElsewhere(key: TopicKey): ReplicatedTopic | undefined {
    if (this.#lease === undefined) return undefined;
    const topic = this.#options.topics.topicForOthers(key);
    if (topic?.isWantedElsewhere === false) {
      topic.isWantedElsewhere = true;
      topic.settle();
    }
    return topic;
  }

  /** Watches the topics that other replicas mention, and ends the watches of others. Never rejects. */
  async learnInterest(): Promise<void> {
    // Without Redis there is nothing to learn; the next reconciliation tries again.
    const listed = await this.#options.interest.list().catch(() => undefined);
    if (listed === undefined || this.#lease === undefined) return;
    for (const [index, key] of listed.entries()) {
      // Forty thousand topics at once would block the event loop for seconds.
      if (index % topicsAtOnce === topicsAtOnce - 1) await nextTurn();
      this.wantedElsewhere(key);
    }
    this.#dropUnwanted(new Set(listed));
  }

  #end(): void {
    const { topics } = this.#options;
    this.#lease = undefined;
    for (const topic of topics) topic.invalidateConfirmation();
    topics.settle();
    this.#dropUnwanted(new Set());
  }

  #dropUnwanted(wanted: ReadonlySet<TopicKey>): void {
    const { topics } = this.#options;
    for (const topic of topics) {
      if (!topic.isWantedElsewhere || wanted.has(topic.key)) continue;
      topic.isWantedElsewhere = false;
      topic.settle();
      topics.forgetIdle(topic);
    }
  }

  /** Without Redis the lease ends by itself. */
  async #drop(): Promise<void> {
    await this.#options.keeper.drop().catch(() => undefined);
  }

  #nowMs(): number {
    return this.#options.context.clock.monotonicMs();
  }
}
