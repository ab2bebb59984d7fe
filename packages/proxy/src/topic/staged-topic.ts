import type { JsonObject, PastVersion, TrialCounts } from "@bunting/protocol";
import { ProxyError } from "../proxy-error.js";
import type { SourceReport, SourceSink, SourceVersion } from "../source/flag-source.js";
import { markRefusedTrial, type Trial } from "../source/trial.js";
import type { Subscriber, Subscription } from "./subscription.js";
import { TopicMemory } from "./topic-memory.js";
import type { LostSubscribers, TopicOptions } from "./topic-options.js";
import type { Topic } from "./topic.js";
import { TopicTrial, type TopicTrialOptions } from "./topic-trial.js";
import { trialCounts } from "./trial-counts.js";

export interface StagedTopicOptions
  extends Pick<TopicTrialOptions, "fanOut" | "context" | "onIdle">, Pick<TopicOptions, "ledger" | "onRoom"> {
  readonly topic: Topic;
  /** The subscribers that must not be sent the version reported last; none if not given. */
  readonly lost?: LostSubscribers | undefined;
}

/**
 * A topic as its source and its subscribers meet it. Mostly it is the topic alone. While a new version is pushed progressively, it is the topic,
 * which has the version that all agents are to have, and the trial of the new one, which some agents are subscribed to in its place.
 */
export class StagedTopic implements SourceSink {
  readonly topic: Topic;
  readonly #options: StagedTopicOptions;
  #trial: TopicTrial | undefined;
  /** Ended trials, of which some agents have not been moved yet. */
  readonly #ended = new Set<TopicTrial>();
  /** Memory of the newest trial, which may have been refused for want of it. */
  #trialMemory: TopicMemory | undefined;

  constructor(options: StagedTopicOptions) {
    this.topic = options.topic;
    this.#options = options;
  }

  /** Undefined while all are served the same. */
  get trial(): TopicTrial | undefined {
    return this.#trial;
  }

  /** Number of subscriptions. */
  get size(): number {
    return this.#trials.reduce((sum, { size }) => sum + size, this.topic.size);
  }

  get history(): readonly PastVersion[] | undefined {
    return this.topic.history;
  }

  flags(): JsonObject | undefined {
    return this.topic.flags();
  }

  trialCounts(): TrialCounts | undefined {
    return trialCounts(this.topic);
  }

  /** @throws ProxyError as `Topic.subscribe` */
  subscribe(subscriber: Subscriber): Subscription {
    return this.#stageOf(subscriber).subscribe(subscriber);
  }

  report(report: SourceReport): void {
    const version = "version" in report ? report.version : undefined;
    if (version?.trial !== undefined && report.kind !== "missing" && report.kind !== "deleted") {
      const { trial, ...served } = version;
      const isFirst = this.topic.newest === undefined;
      this.#options.fanOut.hold(() => {
        this.topic.report({ ...report, version: served } as SourceReport);
        try {
          if (!this.topic.isClosed) this.#try(trial, served, isFirst);
        } catch (error) {
          markRefusedTrial(error);
          throw error;
        }
      });
      return;
    }
    this.topic.report(report);
    if (report.kind === "stale") this.#trial?.wakeForFreshness();
    else this.#endTrial();
  }

  /** Called by the registry. Refuses the remaining subscribers. */
  close(): void {
    this.#trialMemory?.forgetRefused();
    const trials = this.#trials;
    this.#trial = undefined;
    for (const trial of trials) {
      trial.refuse(new ProxyError("SHUTTING_DOWN", "the proxy is shutting down; connect again"));
      trial.end();
    }
    this.topic.close();
  }

  /** @param isFirst subscribers wait: who comes back with the new version must not be sent the other one before it */
  #try(trial: Trial, reported: SourceVersion, isFirst: boolean): void {
    const version = trial.generation === undefined ? reported : { ...reported, generation: trial.generation };
    const before = this.#trial;
    this.#endLost();
    try {
      if (before?.digest === trial.digest) {
        before.update(trial, version);
        before.wakeForFreshness();
      } else this.#replace(before, trial, version);
    } finally {
      this.#tellProxies();
      this.#place([...(before?.subscriptions ?? []), ...this.topic.subscriptions], isFirst);
    }
  }

  /** The trial before it ends also where there is no memory for this one: nobody is to have that version any more. */
  #replace(before: TopicTrial | undefined, trial: Trial, version: SourceVersion): void {
    const { topic, ledger, onRoom } = this.#options;
    const onIdle = (): void => this.#idle();
    this.#trial = undefined;
    topic.trial = undefined;
    if (before !== undefined) this.#end(before);
    this.#trialMemory?.forgetRefused();
    this.#trialMemory = new TopicMemory(topic.key, ledger, onRoom);
    this.#trial = new TopicTrial({ ...this.#options, trial, version, onIdle }, this.#trialMemory);
    topic.trial = this.#trial;
  }

  #endTrial(): void {
    this.#trialMemory?.forgetRefused();
    this.#endLost();
    const trial = this.#trial;
    if (trial === undefined) return;
    this.#trial = undefined;
    this.topic.trial = undefined;
    this.#end(trial);
    this.#tellProxies();
    this.#place([...trial.subscriptions]);
  }

  /** Ends a trial, which still has its agents: the caller has them moved. */
  #end(trial: TopicTrial): void {
    if (trial.size > 0) this.#ended.add(trial);
    trial.end();
  }

  /** Before they can take anything: what an edit says of readers counts for those in trials too. */
  #endLost(): void {
    const trials = this.#trials;
    if (trials.length === 0) return;
    for (const { error, subscribers } of this.#options.lost?.(this.topic.key) ?? [])
      for (const trial of trials) trial.refuse(error, (subscriber) => !subscribers.has(subscriber));
  }

  /** Trials with subscriptions: the one under way, and the ended ones before it. */
  get #trials(): readonly TopicTrial[] {
    return this.#trial === undefined ? [...this.#ended] : [...this.#ended, this.#trial];
  }

  #tellProxies(): void {
    for (const { subscriber } of this.topic.subscriptions)
      if (subscriber.trials !== undefined) subscriber.wake();
  }

  #stageOf(subscriber: Subscriber): Topic | TopicTrial {
    return this.#trial?.takes(subscriber) === true ? this.#trial : this.topic;
  }

  /** Moves those that are not where they belong by now, in steps: there may be ten thousand. */
  #place(subscriptions: readonly Subscription[], isAtOnce = false): void {
    const elsewhere = subscriptions.filter((one) => this.#belongsElsewhere(one));
    if (isAtOnce) for (const one of elsewhere) this.#settle(one);
    else this.#options.fanOut.each(elsewhere, (one) => this.#settle(one));
  }

  /** Moves it, unless others have moved it meanwhile, or ended it. */
  #settle(subscription: Subscription): void {
    if (this.#belongsElsewhere(subscription)) this.#move(subscription.subscriber);
  }

  #belongsElsewhere({ topic, subscriber }: Subscription): boolean {
    return topic !== undefined && topic !== this.#stageOf(subscriber);
  }

  #move(subscriber: Subscriber): void {
    try {
      const to = this.subscribe(subscriber);
      if (subscriber.move === undefined) to.close();
      else subscriber.move(to);
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      subscriber.refuse(error);
    }
  }

  #idle(): void {
    for (const trial of this.#ended) if (trial.size === 0) this.#ended.delete(trial);
    if (this.size === 0) this.#options.onIdle();
  }
}
