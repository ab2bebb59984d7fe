import type { Distribution } from "./distribution.js";

export type LabelValue = string | number;

/** A label of a metric, with the values of which a series exists before the first is recorded. */
export interface Label<Value extends LabelValue> {
  readonly name: string;
  readonly values: readonly Value[];
}

/** @param values none if the series are to begin when they are recorded first; the type then says which there can be */
export function label<const Value extends LabelValue>(name: string, ...values: Value[]): Label<Value> {
  return { name, values };
}

/** One line of a metric, as prom-client reads it. */
export interface Series {
  readonly labels: Readonly<Record<string, LabelValue>>;
  value: number;
  /** Of metrics that count and sum. */
  sum: number;
  /** Of histograms, from the first value on. */
  distribution?: Distribution;
}

/** The values of a metric with at most two labels. Finding a series allocates nothing with one label, and one string with two. */
export class LabelledValues {
  readonly #labels: readonly Label<LabelValue>[];
  readonly #series = new Map<LabelValue, Series>();

  constructor(labels: readonly Label<LabelValue>[]) {
    this.#labels = labels;
    const [{ values: firsts } = { values: [""] }, { values: seconds } = { values: [""] }] = labels;
    for (const first of firsts) for (const second of seconds) this.at(first, second);
  }

  get names(): string[] {
    return this.#labels.map(({ name }) => name);
  }

  /** "" stands for a label that the metric does not have. */
  find(first: LabelValue, second: LabelValue): Series | undefined {
    return this.#series.get(keyOf(first, second));
  }

  /** Begins the series if there is none. */
  at(first: LabelValue, second: LabelValue): Series {
    const key = keyOf(first, second);
    const series = this.#series.get(key);
    if (series !== undefined) return series;
    const values = [first, second];
    const labels = Object.fromEntries(this.#labels.map(({ name }, index) => [name, values[index] ?? ""]));
    const begun: Series = { labels, value: 0, sum: 0 };
    this.#series.set(key, begun);
    return begun;
  }

  /** The same, of a metric with one label. */
  ofOne(only: LabelValue): Series {
    return this.#series.get(only) ?? this.at(only, "");
  }

  /** Ends a series; it begins again when it is recorded. */
  forget({ labels }: Series): void {
    const [first = "", second = ""] = this.names.map((name) => labels[name]);
    this.#series.delete(keyOf(first, second));
  }

  all(): Iterable<Series> {
    return this.#series.values();
  }
}

function keyOf(first: LabelValue, second: LabelValue): LabelValue {
  return second === "" ? first : `${first}\n${second}`;
}
