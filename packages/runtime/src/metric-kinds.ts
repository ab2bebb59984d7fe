import { Gauge, type Registry } from "prom-client";
import type { Metric, MetricDefinition } from "./define-metrics.js";
import { Distribution } from "./distribution.js";
import { LabelledValues, type Label, type LabelValue, type Series } from "./labelled-values.js";
import { ScrapedCounter } from "./scraped-counter.js";
import { ScrapedHistogram, type HistogramSeries } from "./scraped-histogram.js";

/** At most two. */
type Labels = readonly Label<LabelValue>[];
type ValuesOf<L extends Labels> = {
  [Index in keyof L]: L[Index] extends Label<infer Value> ? Value : never;
};
type ReadOf<L extends Labels> = (...labels: ValuesOf<L>) => number;
type Recording = (series: Series, value: number) => void;

/** Counts one, or as many as the call says. Numbers are plain until Prometheus scrapes. */
export function counter<const L extends Labels>(
  name: string,
  help: string,
  ...labels: L
): MetricDefinition<[...ValuesOf<L>, by?: number], ReadOf<L>> {
  return {
    create(registers) {
      const values = new LabelledValues(labels);
      new ScrapedCounter({ name, help, labelNames: values.names, registers }, () => values.all());
      return recorder(values, add, adderOfOne);
    },
  };
}

/** Counts one and sums bytes in a second counter. */
export function sizedCounter<const L extends Labels>(
  [countName, countHelp]: readonly [name: string, help: string],
  [bytesName, bytesHelp]: readonly [name: string, help: string],
  ...labels: L
): MetricDefinition<[...ValuesOf<L>, bytes: number], ReadOf<L>> {
  return {
    create(registers) {
      const values = new LabelledValues(labels);
      const labelNames = values.names;
      new ScrapedCounter({ name: countName, help: countHelp, labelNames, registers }, () => values.all());
      new ScrapedCounter({ name: bytesName, help: bytesHelp, labelNames, registers }, () =>
        Array.from(values.all(), ({ labels: of, sum }) => ({ labels: of, value: sum })),
      );
      const addSized: Recording = (series, bytes) => {
        series.value++;
        series.sum += bytes;
      };
      return recorder(values, addSized, sizedAdderOfOne);
    },
  };
}

/** A gauge that goes up and down by what is recorded. */
export function upDownCounter<const L extends Labels>(
  name: string,
  help: string,
  ...labels: L
): MetricDefinition<[...ValuesOf<L>, delta: number], ReadOf<L>> {
  return { create: (registers) => recorder(gaugeValues(name, help, labels, registers), add, adderOfOne) };
}

/** A gauge that has the value recorded last. Null ends its series: what it was about is gone. */
export function gauge<const L extends Labels>(
  name: string,
  help: string,
  ...labels: L
): MetricDefinition<[...ValuesOf<L>, value: number | null], ReadOf<L>> {
  return { create: (registers) => setGauge(gaugeValues(name, help, labels, registers), unitOf(name), null) };
}

/** A gauge of how many there are by something that comes and goes, such as namespaces: where there are none, there is no series. */
export function transientGauge<const L extends Labels>(
  name: string,
  help: string,
  ...labels: L
): MetricDefinition<[...ValuesOf<L>, value: number], ReadOf<L>> {
  return { create: (registers) => setGauge(gaugeValues(name, help, labels, registers), unitOf(name), 0) };
}

/** A gauge that is 1 or 0. Null ends its series: what it was about is gone. */
export function booleanGauge<const L extends Labels>(
  name: string,
  help: string,
  ...labels: L
): MetricDefinition<[...ValuesOf<L>, isSo: boolean | null], ReadOf<L>> {
  return { create: (registers) => setGauge(gaugeValues(name, help, labels, registers), 1, null) };
}

/** A gauge that is 1 for the state recorded last, and 0 for all others. "" ends its series: what had a state is gone. */
export function stateSet<
  const States extends readonly string[],
  const L extends readonly Label<LabelValue>[],
>(
  name: string,
  help: string,
  [stateLabel, states]: readonly [name: string, states: States],
  ...labels: L
): MetricDefinition<[...ValuesOf<L>, state: States[number] | ""], undefined> {
  return {
    create(registers) {
      const values = gaugeValues(name, help, [...labels, { name: stateLabel, values: states }], registers);
      return recorder(values, (recorded) => {
        const now = recorded.labels[stateLabel];
        for (const state of states) {
          const series =
            labels.length === 0
              ? values.at(state, "")
              : values.at(Object.values(recorded.labels)[0] ?? "", state);
          series.value = now === state ? 1 : 0;
          if (now === "") values.forget(series);
        }
        if (now === "") values.forget(recorded);
      });
    },
  };
}

/** A histogram for code that runs ten thousand times per broadcast: prom-client's `observe` checks and hashes labels each time. */
export function histogram<const L extends Labels>(
  name: string,
  help: string,
  buckets: readonly number[],
  ...labels: L
): MetricDefinition<[...ValuesOf<L>, value: number], undefined> {
  const unit = unitOf(name);
  return {
    create(registers) {
      const values = new LabelledValues(labels);
      if (labels.length === 0) values.at("", "").distribution = new Distribution(buckets);
      const begun = function* (): Iterable<HistogramSeries> {
        for (const { labels, distribution } of values.all())
          if (distribution !== undefined)
            yield { labels, counts: distribution.counts, sum: distribution.sum };
      };
      new ScrapedHistogram({ name, help, labelNames: values.names, buckets, registers }, begun);
      return recorder(values, (series, value) => {
        series.distribution ??= new Distribution(buckets);
        series.distribution.record(value / unit);
      });
    },
  };
}

/** A gauge of a report, with a label if there are several values. */
export interface ReportGauge<Report> {
  readonly name: string;
  readonly help: string;
  readonly label?: string;
  readonly of: (report: Report) => number | Iterable<readonly [label: LabelValue, value: number]>;
}

/** Gauges that are read when Prometheus scrapes, of what the function returns that was recorded last. */
export function observed<Report, Initial = Report>(
  initial: Initial,
  gauges: readonly ReportGauge<Report | Initial>[],
): MetricDefinition<[read: () => Report], () => Report | Initial> {
  return {
    create(registers) {
      let read = (): Report | Initial => initial;
      let heard: ((read: () => Report) => void) | undefined;
      for (const { name, help, label, of } of gauges) {
        const unit = unitOf(name);
        new Gauge({
          name,
          help,
          labelNames: label === undefined ? [] : [label],
          registers,
          collect() {
            const value = of(read());
            // Series that the report has no more would stay at their last values.
            this.reset();
            if (typeof value === "number") this.set(value / unit);
            else for (const [key, each] of value) this.set({ [label ?? ""]: key }, each / unit);
          },
        });
      }
      const record = (given: () => Report): void => {
        read = given;
        heard?.(given);
      };
      return Object.assign(record, {
        read: () => read(),
        listen: (listener: (read: () => Report) => void) => void (heard = listener),
      });
    },
  };
}

/** Counts without labels what listeners are told with a detail. */
export function detailed<Detail>(
  counted: MetricDefinition<[by?: number], () => number>,
): MetricDefinition<[detail: Detail], () => number> {
  return {
    create(registers) {
      const count = counted.create(registers);
      let heard: ((detail: Detail) => void) | undefined;
      const record = (detail: Detail): void => {
        count();
        heard?.(detail);
      };
      return Object.assign(record, {
        read: count.read,
        listen: (listener: (detail: Detail) => void) => void (heard = listener),
      });
    },
  };
}

function gaugeValues(name: string, help: string, labels: Labels, registers: Registry[]): LabelledValues {
  const values = new LabelledValues(labels);
  new Gauge({
    name,
    help,
    labelNames: values.names,
    registers,
    collect() {
      // A series that was scraped before, and has ended, would stay at its last value.
      this.reset();
      for (const series of values.all()) this.set(series.labels, series.value);
    },
  });
  return values;
}

/** @param end the value that ends a series */
function setGauge<Args extends readonly unknown[], Read>(
  values: LabelledValues,
  unit: number,
  end: 0 | null,
): Metric<Args, Read> {
  return recorder(values, (series: Series, value: number | boolean | null) => {
    series.value = Number(value) / unit;
    if (value === end) values.forget(series);
  });
}

function add(series: Series, value: number): void {
  series.value += value;
}

/** What one second, or one of another unit, is in that of the records. */
function unitOf(name: string): number {
  return name.endsWith("_seconds") ? 1_000 : 1;
}

type Listener = (...args: LabelValue[]) => void;
interface Heard {
  by: Listener | undefined;
}

/**
 * Records by one label, where that is hot: what `recorder` makes calls a function that differs between metrics, which V8 does not inline, and
 * takes twice as long.
 */
type RecorderOfOne = (values: LabelledValues, heard: Heard) => (only: LabelValue, value?: number) => void;

const adderOfOne: RecorderOfOne =
  (values, heard) =>
  (only, by = 1) => {
    values.ofOne(only).value += by;
    heard.by?.(only, by);
  };

const sizedAdderOfOne: RecorderOfOne =
  (values, heard) =>
  (only, bytes = 0) => {
    const series = values.ofOne(only);
    series.value++;
    series.sum += bytes;
    heard.by?.(only, bytes);
  };

/** One function for each number of labels: rest parameters would allocate at each call. */
function recorder<Args extends readonly unknown[], Read>(
  values: LabelledValues,
  record: Recording,
  ofOne?: RecorderOfOne,
): Metric<Args, Read> {
  const heard: Heard = { by: undefined };
  const only = values.names.length === 0 ? values.at("", "") : undefined;
  const byLabels = [
    (value = 1) => {
      if (only === undefined) return;
      record(only, value);
      heard.by?.(value);
    },
    ofOne?.(values, heard) ??
      ((first: LabelValue, value = 1) => {
        record(values.ofOne(first), value);
        heard.by?.(first, value);
      }),
    (first: LabelValue, second: LabelValue, value = 1) => {
      record(values.at(first, second), value);
      heard.by?.(first, second, value);
    },
  ] as const;
  const metric = Object.assign(byLabels[values.names.length] ?? byLabels[2], {
    read: (first: LabelValue = "", second: LabelValue = "") => values.find(first, second)?.value ?? 0,
    listen: (listener: Listener) => void (heard.by = listener),
  });
  return metric as unknown as Metric<Args, Read>;
}
