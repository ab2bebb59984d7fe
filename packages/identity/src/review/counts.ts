/** A count for each caller. Callers with a count of 0 take no memory. */
export class Counts {
  readonly #counts = new Map<string, number>();

  of(caller: string): number {
    return this.#counts.get(caller) ?? 0;
  }

  add(caller: string, delta: number): void {
    const count = this.of(caller) + delta;
    if (count > 0) this.#counts.set(caller, count);
    else this.#counts.delete(caller);
  }
}
