/** How many things each asker has; those with none take no memory. */
export class Counts {
  readonly #counts = new Map<string, number>();

  of(asker: string): number {
    return this.#counts.get(asker) ?? 0;
  }

  add(asker: string, delta: number): void {
    const count = this.of(asker) + delta;
    if (count > 0) this.#counts.set(asker, count);
    else this.#counts.delete(asker);
  }
}
