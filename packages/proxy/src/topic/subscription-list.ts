import type { Subscription } from "./subscription.js";

/**
 * The subscriptions of a topic as an intrusive linked list with one cursor. A fan-out pass yields half-way to the event loop, and
 * subscribers come and go meanwhile: the cursor stays valid, no subscription is left out, and neither a step nor a change allocates.
 */
export class SubscriptionList {
  #first: Subscription | undefined;
  #last: Subscription | undefined;
  #cursor: Subscription | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** All of them, for a walk within one turn of the event loop. */
  *[Symbol.iterator](): Generator<Subscription> {
    for (let one = this.#first; one !== undefined; one = one.next) yield one;
  }

  /** Adds at the end. A walk that has reached the end already does not see it. */
  add(subscription: Subscription): void {
    subscription.previous = this.#last;
    if (this.#last === undefined) this.#first = subscription;
    else this.#last.next = subscription;
    this.#last = subscription;
    this.#size++;
  }

  /** Removes a subscription, which must be in this list. */
  delete(subscription: Subscription): void {
    const { previous, next } = subscription;
    if (this.#cursor === subscription) this.#cursor = next;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    subscription.previous = undefined;
    subscription.next = undefined;
    this.#size--;
  }

  /** Begins a walk at the first. */
  rewind(): void {
    this.#cursor = this.#first;
  }

  /** The next of the walk; undefined at its end. */
  step(): Subscription | undefined {
    const subscription = this.#cursor;
    this.#cursor = subscription?.next;
    return subscription;
  }
}
