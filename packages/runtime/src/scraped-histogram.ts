import { Histogram, type HistogramConfiguration } from "prom-client";

/** The state of one series: how many values fell into each bucket, the last for those beyond all bounds. */
export interface HistogramSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly sharedLabels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * A histogram whose numbers are kept elsewhere, without labels, and read when Prometheus scrapes: `observe` of prom-client checks and hashes
 * labels for each value.
 */
export class ScrapedHistogram extends Histogram {
  readonly #bounds: readonly number[];
  readonly #name: string;
  readonly #help: string;
  readonly #read: () => Iterable<HistogramSeries>;

  constructor(
    configuration: Omit<HistogramConfiguration<string>, "buckets"> & { readonly buckets: readonly number[] },
    read: () => Iterable<HistogramSeries>,
  ) {
    super({ ...configuration, buckets: [...configuration.buckets] });
    this.#bounds = configuration.buckets;
    this.#name = configuration.name;
    this.#help = configuration.help;
    this.#read = read;
  }

  /** Called by prom-client's registry, directly and through `get`; it is missing from prom-client's types. */
  getForPromString(): Promise<unknown> {
    const values: Sample[] = [];
    for (const { labels, counts, sum } of this.#read()) {
      let count = 0;
      const add = (what: string, value: number, more: Sample["labels"] = {}): void => {
        values.push({
          metricName: `${this.#name}_${what}`,
          labels: { ...more, ...labels },
          sharedLabels: {},
          value,
        });
      };
      for (let i = 0; i < counts.length; i++) {
        count += counts[i] ?? 0;
        add("bucket", count, { le: this.#bounds[i] ?? "+Inf" });
      }
      add("sum", sum);
      add("count", count);
    }
    return Promise.resolve({
      name: this.#name,
      help: this.#help,
      type: "histogram",
      aggregator: "sum",
      values,
    });
  }
}
