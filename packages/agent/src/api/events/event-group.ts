import type { FlagChange } from "../../store/flag-change.js";
import { StreamGroup } from "../stream-group.js";
import { ChangeSet } from "./change-set.js";
import { configurationChangeFrame } from "./event-frames.js";
import { PendingChanges } from "./pending-changes.js";

/** A stream as its group sees it. */
export interface EventSubscriber {
  /** False while a frame is in flight. */
  readonly isIdle: boolean;
  /** The changes to send once the stream is idle. */
  pending: PendingChanges | undefined;
  send(frame: Buffer): void;
}

/**
 * How many sets of pending changes a group holds at most, however many streams stop reading and whenever each of them does. Streams that
 * stop when there are as many share the newest set, and may learn of a change twice.
 */
const maxPending = 8;

/** The EventStreams with one selector. An event is encoded once for all of them. */
export class EventGroup extends StreamGroup<EventSubscriber> {
  #pending: PendingChanges[] = [];

  override delete(subscriber: EventSubscriber): void {
    super.delete(subscriber);
    this.#take(subscriber);
  }

  publish(changes: Iterable<FlagChange>): void {
    const selected = ChangeSet.select(changes, this.selection.select);
    if (selected.size === 0) return;
    const blocked = [...this.streams].filter((one) => !one.isIdle && one.pending === undefined);
    const joined = blocked.length === 0 ? undefined : this.#pendingToJoin();
    for (const pending of this.#pending) pending.add(selected);
    for (const subscriber of blocked) {
      subscriber.pending = joined;
      joined?.join();
    }
    let frame: Buffer | undefined;
    for (const subscriber of this.streams) {
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

  /** Sends what a subscriber missed; call it when the subscriber has become idle. */
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
