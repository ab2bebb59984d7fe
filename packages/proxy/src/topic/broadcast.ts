import type { FanOut, Pass } from "./fan-out.js";
import type { SubscriptionList } from "./subscription-list.js";

/**
 * Wakes all subscriptions of a topic. A publish while a pass is under way begins no second one: those not passed yet find the
 * newest anyway, and once the pass is at its end it starts over for those already passed. So all end at the newest however often
 * it changes, and a stream of publishes can't keep the pass from reaching the last subscriber.
 */
export class Broadcast implements Pass {
  readonly #subscriptions: SubscriptionList;
  readonly #fanOut: FanOut;
  #isUnderWay = false;
  #startOver = false;

  constructor(subscriptions: SubscriptionList, fanOut: FanOut) {
    this.#subscriptions = subscriptions;
    this.#fanOut = fanOut;
  }

  publish(): void {
    if (this.#isUnderWay) {
      this.#startOver = true;
      return;
    }
    this.#isUnderWay = true;
    this.#subscriptions.rewind();
    this.#fanOut.begin(this);
  }

  /** Called by the fan-out only. */
  step(): boolean {
    let subscription = this.#subscriptions.step();
    if (subscription === undefined && this.#startOver) {
      this.#startOver = false;
      this.#subscriptions.rewind();
      subscription = this.#subscriptions.step();
    }
    if (subscription === undefined) {
      this.#isUnderWay = false;
      return false;
    }
    subscription.subscriber.wake();
    return true;
  }
}
