import { SetMultimap } from "@bunting/runtime";

/**
 * Which dependents have asked for which objects, so that they hear when one changes. Names of objects come from annotations and sources, of which whoever
 * writes them may write others every second: what a dependent asked for before is forgotten when it begins anew.
 */
export class Dependents {
  readonly #dependentsOf = new SetMultimap<string, string>();
  readonly #keysOf = new SetMultimap<string, string>();

  /** The dependent has asked for nothing from now on. */
  begin(dependent: string): void {
    for (const key of this.#keysOf.take(dependent)) this.#dependentsOf.delete(key, dependent);
  }

  /** The dependent asks for the object of a key, whether there is one or not. */
  add(dependent: string, key: string): void {
    this.#dependentsOf.add(key, dependent);
    this.#keysOf.add(dependent, key);
  }

  /** The dependents of an object that has changed, which have to ask again to hear of the next change. */
  take(key: string): ReadonlySet<string> {
    const dependents = this.#dependentsOf.take(key);
    for (const dependent of dependents) this.#keysOf.delete(dependent, key);
    return dependents;
  }
}
