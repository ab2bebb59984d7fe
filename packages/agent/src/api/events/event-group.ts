import type { FlagChange } from "../../store/flag-change.js";
import type { Selection } from "../selection.js";
import { StreamGroup } from "../stream-group.js";
import { ChangeSet } from "./change-set.js";
import { PendingChanges } from "./pending-changes.js";
import type { RecentChanges } from "./recent-changes.js";
import { configurationChange, type StreamEvent } from "./stream-event.js";

/** A stream as its group sees it. */
export interface EventSubscriber {
  /** False while a frame is in flight. */
  readonly isIdle: boolean;
  /** The changes to send once the stream is idle. */
  pending: PendingChanges | undefined;
  sendEvent(event: StreamEvent): void;
}

/**
 * How many sets of pending changes a group holds at most, however many streams stop reading and whenever each of them does. Streams that
 * stop when there are as many share the newest set, and may learn of a change twice.
 */
const maxPending = 8;

/** The EventStreams with one selector. An event is encoded once for all of them that have the same codec. */
export class EventGroup extends StreamGroup<EventSubscriber> {
  readonly #recent: RecentChanges;
  #pending: PendingChanges[] = [];
  /** What new streams are told at this version of the recent changes. Held weakly: it may name all flags, and streams come together or never. */
  #news: { readonly version: number; readonly event: WeakRef<StreamEvent> | undefined } | undefined;

  constructor(selection: Selection, recent: RecentChanges) {
    super(selection);
    this.#recent = recent;
  }

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
    let event: StreamEvent | undefined;
    for (const subscriber of this.streams) {
      if (subscriber.isIdle) subscriber.sendEvent((event ??= configurationChange(selected.byKey())));
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
    const event = this.#take(subscriber)?.event();
    if (event !== undefined) subscriber.sendEvent(event);
  }

  /** The changes that a new stream's client may have missed; undefined if there are none. */
  news(): StreamEvent | undefined {
    const { version } = this.#recent;
    if (this.#news?.version === version) {
      if (this.#news.event === undefined) return undefined;
      const event = this.#news.event.deref();
      if (event !== undefined) return event;
    }
    const changes = this.#recent.of(this.selection.select);
    const event = changes.size === 0 ? undefined : configurationChange(changes);
    this.#news = { version, event: event && new WeakRef(event) };
    return event;
  }

  #take(subscriber: EventSubscriber): PendingChanges | undefined {
    const { pending } = subscriber;
    subscriber.pending = undefined;
    pending?.leave();
    return pending;
  }
}
