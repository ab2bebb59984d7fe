import { ChangeSet } from "./change-set.js";
import { configurationChange, type StreamEvent } from "./stream-event.js";

/** The changes that blocked streams have yet to be sent, shared by all streams that were blocked at the same update. */
export class PendingChanges {
  readonly #changes = new ChangeSet();
  #event: StreamEvent | undefined;
  #waiting = 0;
  #isMixed = false;

  get isWaitedFor(): boolean {
    return this.#waiting > 0;
  }

  join(): void {
    this.#waiting++;
  }

  /** To be called before streams join that already know some of these changes. */
  mix(): void {
    this.#isMixed = true;
  }

  leave(): void {
    this.#waiting--;
  }

  add(changes: ChangeSet): void {
    this.#changes.add(changes, !this.#isMixed);
    this.#event = undefined;
  }

  /** The event to send to a stream that waited; undefined if there is no net change. */
  event(): StreamEvent | undefined {
    if (this.#changes.size === 0) return undefined;
    return (this.#event ??= configurationChange(this.#changes.byKey()));
  }
}
