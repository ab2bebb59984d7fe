import type { FlagChange } from "../store/flag-change.js";
import type { Selection } from "./selection.js";

/** The streams with one selector. What they are sent is encoded once for all of them. */
export abstract class StreamGroup<Stream> {
  readonly selection: Selection;
  protected readonly streams = new Set<Stream>();

  constructor(selection: Selection) {
    this.selection = selection;
  }

  get isEmpty(): boolean {
    return this.streams.size === 0;
  }

  add(stream: Stream): void {
    this.streams.add(stream);
  }

  delete(stream: Stream): void {
    this.streams.delete(stream);
  }

  /** True if a flag of the selection is among the changed ones, before or after its change. */
  protected isChangedBy(changes: readonly FlagChange[]): boolean {
    const { select } = this.selection;
    return changes.some(
      ({ before, after }) =>
        select === undefined ||
        (before !== undefined && select(before)) ||
        (after !== undefined && select(after)),
    );
  }
}
