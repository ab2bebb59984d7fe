import { SetMultimap } from "@bunting/runtime";

/**
 * Who has asked for which objects, so that they hear when one changes. Names of objects come from annotations and sources, of which whoever writes
 * them may write others every second: what somebody asked for before is forgotten when they begin anew.
 */
export class Dependents {
  readonly #readersOf = new SetMultimap<string, string>();
  readonly #keysOf = new SetMultimap<string, string>();

  /** The reader has asked for nothing from now on. */
  begin(reader: string): void {
    for (const key of this.#keysOf.take(reader)) this.#readersOf.delete(key, reader);
  }

  /** The reader asks for the object of a key, whether there is one or not. */
  add(reader: string, key: string): void {
    this.#readersOf.add(key, reader);
    this.#keysOf.add(reader, key);
  }

  /** The readers of an object that has changed, who have to ask again to hear of the next change. */
  take(key: string): ReadonlySet<string> {
    const readers = this.#readersOf.take(key);
    for (const reader of readers) this.#keysOf.delete(reader, key);
    return readers;
  }
}
