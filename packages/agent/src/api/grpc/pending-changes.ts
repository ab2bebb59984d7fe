import { ChangeSet } from "./change-set.js";
import { configurationChangeFrame } from "./event-frames.js";

/** What happened while some streams were not able to take it: the same for all that were blocked by the same update. */
export class PendingChanges {
  readonly #changes = new ChangeSet();
  #frame: Buffer | undefined;
  #waiting = 0;
  #isMixed = false;

  get isWaitedFor(): boolean {
    return this.#waiting > 0;
  }

  join(): void {
    this.#waiting++;
  }

  /** To be called before streams join that know some of the changes in here already. */
  mix(): void {
    this.#isMixed = true;
  }

  leave(): void {
    this.#waiting--;
  }

  add(changes: ChangeSet): void {
    this.#changes.add(changes, !this.#isMixed);
    this.#frame = undefined;
  }

  /** What a stream that waited is to be sent; undefined if, in sum, nothing changed. */
  frame(): Buffer | undefined {
    if (this.#changes.size === 0) return undefined;
    return (this.#frame ??= configurationChangeFrame(this.#changes));
  }
}
