import type { FlagChange } from "../backend.js";
import type { Selection } from "../selection.js";
import { ChangeSet } from "./change-set.js";
import { configurationChangeFrame } from "./event-frames.js";
import { PendingChanges } from "./pending-changes.js";

/** A stream as its group sees it. */
export interface EventSubscriber {
  /** False while a frame is in flight. */
  readonly isIdle: boolean;
  /** What it waits for until then. */
  pending: PendingChanges | undefined;
  send(frame: Buffer): void;
}

/**
 * So many sets of pending changes a group holds, however many streams do not read and whenever each of them stopped. Streams that stop
 * when there are so many share the newest: they will be told of some changes twice.
 */
const maxPending = 8;

/** The streams with one selector. An event is encoded once for all of them. */
export class EventGroup {
  readonly #selection: Selection;
  readonly #subscribers = new Set<EventSubscriber>();
  #pending: PendingChanges[] = [];

  constructor(selection: Selection) {
    this.#selection = selection;
  }

  /** The text of the selector. */
  get text(): string {
    return this.#selection.text;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  add(subscriber: EventSubscriber): void {
    this.#subscribers.add(subscriber);
  }

  delete(subscriber: EventSubscriber): void {
    this.#subscribers.delete(subscriber);
    this.#take(subscriber);
  }

  publish(changes: Iterable<FlagChange>): void {
    const selected = ChangeSet.select(changes, this.#selection.select);
    if (selected.size === 0) return;
    const blocked = [...this.#subscribers].filter((one) => !one.isIdle && one.pending === undefined);
    const joined = blocked.length === 0 ? undefined : this.#pendingToJoin();
    for (const pending of this.#pending) pending.add(selected);
    for (const subscriber of blocked) {
      subscriber.pending = joined;
      joined?.join();
    }
    let frame: Buffer | undefined;
    for (const subscriber of this.#subscribers) {
      if (subscriber.isIdle) subscriber.send((frame ??= configurationChangeFrame(selected)));
    }
  }

  #pendingToJoin(): PendingChanges {
    this.#pending = this.#pending.filter((pending) => pending.isWaitedFor);
    const newest = this.#pending.at(-1);
    if (newest !== undefined && this.#pending.length >= maxPending) {
      newest.mix();
      return newest;
    }
    const pending = new PendingChanges();
    this.#pending.push(pending);
    return pending;
  }

  /** Sends a subscriber that has become idle what it missed. */
  catchUp(subscriber: EventSubscriber): void {
    const frame = this.#take(subscriber)?.frame();
    if (frame !== undefined) subscriber.send(frame);
  }

  #take(subscriber: EventSubscriber): PendingChanges | undefined {
    const { pending } = subscriber;
    subscriber.pending = undefined;
    pending?.leave();
    return pending;
  }
}
