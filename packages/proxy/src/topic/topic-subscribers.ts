import type { Context } from "@bunting/runtime";
import type { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";
import { Convergence, type ConvergenceState } from "./convergence.js";
import type { FanOut, Pass } from "./fan-out.js";
import type { TopicCharge } from "./topic-charge.js";
import type { Subscriber, Subscription } from "./subscription.js";

export interface TopicSubscribersOptions {
  readonly fanOut: FanOut;
  readonly context: Pick<Context<ProxyMetrics>, "clock" | "metrics">;
  /** The connections of the subscribers are charged with the topic here. */
  readonly charge?: TopicCharge | undefined;
  readonly onConverged: (state: ConvergenceState) => void;
}

/**
 * All subscriptions of a topic. They are woken and refused through the fan-out, and counted as waiting while there is no snapshot.
 *
 * A wake while a pass is under way begins no second one: those not passed yet find the newest anyway, and once the pass is at its end it
 * starts over for those already passed. So all end at the newest however often it changes, and a stream of publishes can't keep the pass
 * from reaching the last subscriber.
 */
export class TopicSubscribers implements Pass {
  readonly #options: TopicSubscribersOptions;
  readonly #subscriptions = new Set<Subscription>();
  /**
   * The walk of the pass under way, or the last one; undefined before the first. It leaves out none, though subscribers come and go meanwhile. An iterator
   * that is not at its end keeps all who were in the Set since it began.
   */
  #walk: Iterator<Subscription, undefined> | undefined;
  readonly #convergence: Convergence;
  #isUnderWay = false;
  #startOver = false;
  #isWaiting = true;
  #waiting = 0;

  constructor(options: TopicSubscribersOptions) {
    this.#options = options;
    this.#convergence = new Convergence(options.context.clock, options.context.metrics, options.onConverged);
  }

  get size(): number {
    return this.#subscriptions.size;
  }

  /** All subscriptions, for a walk within one turn of the event loop. */
  get all(): Iterable<Subscription> {
    return this.#subscriptions;
  }

  /** How far the newest snapshot has got. */
  get convergence(): ConvergenceState {
    return this.#convergence;
  }

  add(subscription: Subscription): void {
    this.#subscriptions.add(subscription);
    const { connection } = subscription.subscriber;
    if (connection !== undefined) this.#options.charge?.add(connection);
    this.#countWaiting();
  }

  /** @param isBehind the subscriber leaves without the newest snapshot */
  delete(subscription: Subscription, isBehind: boolean): void {
    this.#subscriptions.delete(subscription);
    this.#release(subscription);
    this.#countWaiting();
    if (isBehind) this.#convergence.leave();
  }

  /** Wakes all, also those added while it is under way. */
  wake(): void {
    if (this.#isUnderWay) {
      this.#startOver = true;
      return;
    }
    this.#isUnderWay = true;
    this.#walk = this.#subscriptions.values();
    this.#options.fanOut.begin(this);
  }

  /** Called by the fan-out only. */
  step(): boolean {
    let subscription = this.#walk?.next().value;
    if (subscription === undefined && this.#startOver) {
      this.#startOver = false;
      this.#walk = this.#subscriptions.values();
      subscription = this.#walk.next().value;
    }
    this.#isUnderWay = subscription !== undefined;
    subscription?.subscriber.wake();
    return this.#isUnderWay;
  }

  /** Wakes those who are told of it, because the source has become stale or fresh. */
  wakeForFreshness(): void {
    const told = Array.from(this.all).filter(({ subscriber }) => subscriber.readsFreshness);
    this.#options.fanOut.each(told, ({ subscriber }) => subscriber.wake());
  }

  /** Wakes all for a new snapshot, and measures how long it takes to reach them. */
  publish(noticedMs: number): void {
    this.#convergence.begin(noticedMs, this.size);
    this.wake();
  }

  /** A subscriber has received the newest snapshot. */
  caughtUp(): void {
    this.#convergence.caughtUp();
  }

  /** Sets whether the subscribers wait, because there is no snapshot; then none is expected to reach them. */
  setWaiting(isWaiting: boolean): void {
    this.#isWaiting = isWaiting;
    if (isWaiting) this.#convergence.abandon();
    this.#countWaiting();
  }

  /** Ends all present subscriptions but those of spared subscribers, which keep their places: a pass under way goes on to them. */
  refuse(error: ProxyError, isSpared: (subscriber: Subscriber) => boolean = () => false): void {
    const refused = Array.from(this.all).filter(({ subscriber }) => !isSpared(subscriber));
    for (const one of refused) {
      const isBehind = one.missed !== undefined;
      one.detach();
      this.delete(one, isBehind);
    }
    this.#options.fanOut.each(refused, ({ subscriber }) => subscriber.refuse(error));
  }

  #release({ subscriber: { connection } }: Subscription): void {
    if (connection !== undefined) this.#options.charge?.delete(connection);
  }

  #countWaiting(): void {
    const waiting = this.#isWaiting ? this.size : 0;
    if (waiting !== this.#waiting) this.#options.context.metrics.heldSubscribers(waiting - this.#waiting);
    this.#waiting = waiting;
  }
}
