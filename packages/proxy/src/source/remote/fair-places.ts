/**
 * A number of places, shared so that no key has many while another one waits: who asks in vain gets the place of the key that has most, if that is left
 * with no fewer.
 */
export class FairPlaces<Holder> {
  readonly #places: number;
  readonly #held = new Map<string, Set<Holder>>();
  #size = 0;

  constructor(places: number) {
    this.#places = places;
  }

  get isFull(): boolean {
    return this.#size >= this.#places;
  }

  countOf(key: string): number {
    return this.#held.get(key)?.size ?? 0;
  }

  /** `free`, or who has to leave first, which is the last one that came of its key; undefined if there is no place for one more of this key. */
  placeFor(key: string): "free" | { readonly holder: Holder } | undefined {
    if (!this.isFull) return "free";
    let most: ReadonlySet<Holder> = new Set();
    for (const holders of this.#held.values()) if (holders.size > most.size) most = holders;
    const last = [...most].at(-1);
    return last === undefined || most.size < this.countOf(key) + 2 ? undefined : { holder: last };
  }

  add(key: string, holder: Holder): void {
    const holders = this.#held.get(key) ?? new Set();
    this.#held.set(key, holders.add(holder));
    this.#size++;
  }

  delete(key: string, holder: Holder): void {
    const holders = this.#held.get(key);
    if (holders?.delete(holder) !== true) return;
    this.#size--;
    if (holders.size === 0) this.#held.delete(key);
  }
}
