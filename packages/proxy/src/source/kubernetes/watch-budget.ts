import type { FlagRecord } from "./flag-record.js";

/** Object watches on FeatureFlags that exist: about 0.1 MB of the API server's memory each. */
const maxExisting = 2_000;
/** Object watches on FeatureFlags that do not: whoever guesses names gets no further than this. */
const maxAbsent = 512;

/** Who may hold an object watch for as long as it is subscribed to. First come, first served. */
export class WatchBudget {
  readonly #existing = new Set<FlagRecord>();
  readonly #absent = new Set<FlagRecord>();

  /** True if the record may hold a watch; it then has its place until it is released or its existence changes. */
  admits(record: FlagRecord): boolean {
    // It needs one to learn what it is; how many do that at once is the opening gate's business.
    if (record.existence === "unknown") return true;
    const [places, others, max] =
      record.existence === "exists"
        ? [this.#existing, this.#absent, maxExisting]
        : [this.#absent, this.#existing, maxAbsent];
    others.delete(record);
    if (places.size < max) places.add(record);
    return places.has(record);
  }

  release(record: FlagRecord): void {
    this.#existing.delete(record);
    this.#absent.delete(record);
  }
}
