import type { Subscription } from "./subscription.js";

/**
 * The subscriptions of a topic, linked through themselves, with one cursor that walks along them. A fan-out pass stops half-way to let
 * the event loop turn, and subscribers come and go meanwhile: the cursor survives any of that, none is left out, and neither a
 * step nor a change allocates anything.
 */
export class SubscriptionList {
  #first: Subscription | undefined;
  #last: Subscription | undefined;
  #cursor: Subscription | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds at the end, which a walk under way has yet to reach, or has just reached. */
  add(subscription: Subscription): void {
    subscription.previous = this.#last;
    if (this.#last === undefined) this.#first = subscription;
    else this.#last.next = subscription;
    this.#last = subscription;
    this.#size++;
  }

  /** Removes one that is in this list. */
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

  /** Removes and gives back the first. */
  shift(): Subscription | undefined {
    const first = this.#first;
    if (first !== undefined) this.delete(first);
    return first;
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
