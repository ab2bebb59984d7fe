/** Each bucket is this much wider than the one before, so that a percentile is wrong by 1 % at most. */
const growth = 1.02;
const logGrowth = Math.log(growth);
/** From a microsecond on. */
const smallestMs = 0.001;

/** Times, counted in buckets: any number of them take a few kilobytes. */
export class Latencies {
  readonly #buckets: number[] = [];
  #count = 0;
  #maxMs = 0;

  add(ms: number): void {
    const bucket = ms <= smallestMs ? 0 : Math.ceil(Math.log(ms / smallestMs) / logGrowth);
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#count++;
    this.#maxMs = Math.max(this.#maxMs, ms);
  }

  get count(): number {
    return this.#count;
  }

  get maxMs(): number {
    return this.#maxMs;
  }

  /** The time within which this share (0 to 1) of them was. */
  percentileMs(share: number): number {
    let left = share * this.#count;
    for (const [bucket, count = 0] of this.#buckets.entries()) {
      left -= count;
      // The middle of the bucket.
      if (left <= 0) return Math.min(this.#maxMs, smallestMs * growth ** (bucket - 0.5));
    }
    return this.#maxMs;
  }
}

/** The usual percentiles, in ms. */
export interface LatencySummary {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export function summaryOf(latencies: Latencies): LatencySummary {
  const rounded = (ms: number): number => Number(ms.toPrecision(3));
  return {
    p50: rounded(latencies.percentileMs(0.5)),
    p90: rounded(latencies.percentileMs(0.9)),
    p99: rounded(latencies.percentileMs(0.99)),
    p999: rounded(latencies.percentileMs(0.999)),
    max: rounded(latencies.maxMs),
  };
}
