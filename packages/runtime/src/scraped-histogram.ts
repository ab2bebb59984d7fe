import { Histogram, type HistogramConfiguration } from "prom-client";
import type { Reading, Sample } from "./metrics-text.js";

/** The state of one series: how many values fell into each bucket, the last for those beyond all bounds. */
export interface HistogramSeries {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

/** A histogram whose numbers are kept elsewhere and read when Prometheus scrapes. */
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

  /** Called by prom-client's registry for its text, and by `metricsText`; it is missing from prom-client's types. */
  getForPromString(): Promise<Reading> {
    return Promise.resolve({
      name: this.#name,
      help: this.#help,
      type: "histogram",
      values: this.#samples(),
    });
  }

  /** Called by prom-client's registry for JSON. */
  override get(): ReturnType<Histogram["get"]> {
    const values = Array.from(this.#samples(), ({ labels, sharedLabels, ...sample }) => ({
      ...sample,
      labels: { ...labels, ...sharedLabels },
    }));
    const reading = { name: this.#name, help: this.#help, type: "histogram", aggregator: "sum", values };
    return Promise.resolve(reading as unknown as Awaited<ReturnType<Histogram["get"]>>);
  }

  *#samples(): Generator<Sample> {
    const [bucket, sumName, countName] = [`${this.#name}_bucket`, `${this.#name}_sum`, `${this.#name}_count`];
    for (const { labels, counts, sum } of this.#read()) {
      let count = 0;
      for (let i = 0; i < counts.length; i++) {
        count += counts[i] ?? 0;
        const le = this.#bounds[i] ?? "+Inf";
        yield { metricName: bucket, labels: { le }, sharedLabels: labels, value: count };
      }
      yield { metricName: sumName, sharedLabels: labels, value: sum };
      yield { metricName: countName, sharedLabels: labels, value: count };
    }
  }
}
