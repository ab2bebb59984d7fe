import { ValueType, type Attributes, type HrTime } from "@opentelemetry/api";
import { emptyResource } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  DataPointType,
  type DataPoint,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";
import type { Registry } from "@bunting/runtime";
import { otelAttribute, otelName } from "./otel-names.js";

type PrometheusMetric = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>[number];
type Labels = Readonly<Record<string, string | number | undefined>>;

interface PrometheusValue {
  readonly labels: Labels;
  readonly value: number;
  /** Of a histogram: its own with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string;
}

/** Reads the metrics that Prometheus would read, whenever the OpenTelemetry SDK exports, so nothing is counted twice on the hot path. */
export function registryProducer(
  registry: Registry,
  scope: { readonly name: string; readonly version: string },
): MetricProducer {
  const startTime = hrTime(performance.timeOrigin);
  return {
    collect: async () => {
      const families = await registry.getMetricsAsJSON();
      const times = { startTime, endTime: hrTime(Date.now()) };
      // What target_info has for Prometheus is the resource here.
      const metrics = families
        .filter(({ name }) => name !== "target_info")
        .map((family) => metricData(family, times));
      return {
        resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope, metrics }] },
        errors: [],
      };
    },
  };
}

interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

function metricData(family: PrometheusMetric, times: Times): MetricData {
  // The types of prom-client declare an enumeration, but the values are these words.
  const type = String(family.type);
  const { name, unit, isUpDown = false } = otelName(family.name, type === "counter");
  const base = {
    descriptor: { name, description: family.help, unit, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const values = family.values as readonly PrometheusValue[];
  if (type === "histogram")
    return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(values, times) };
  const dataPoints = points(values, times);
  return type === "counter" || isUpDown
    ? { ...base, dataPointType: DataPointType.SUM, isMonotonic: type === "counter", dataPoints }
    : { ...base, dataPointType: DataPointType.GAUGE, dataPoints };
}

function points(values: readonly PrometheusValue[], times: Times): DataPoint<number>[] {
  return values.map(({ labels, value }) => ({ ...times, attributes: attributesOf(labels), value }));
}

interface Sums {
  readonly attributes: Attributes;
  readonly boundaries: number[];
  /** How many values are at most the boundary at the same place. */
  readonly cumulative: number[];
  sum: number;
  count: number;
}

/** One point for each set of labels, of the series that Prometheus has of it: a counter for each boundary, a sum and a count. */
function histograms(values: readonly PrometheusValue[], times: Times): DataPoint<Histogram>[] {
  const byLabels = new Map<string, Sums>();
  for (const { labels, value, metricName = "" } of values) {
    const { le, ...others } = labels;
    const key = JSON.stringify(others);
    let sums = byLabels.get(key);
    if (sums === undefined) {
      sums = { attributes: attributesOf(others), boundaries: [], cumulative: [], sum: 0, count: 0 };
      byLabels.set(key, sums);
    }
    if (metricName.endsWith("_sum")) sums.sum = value;
    else if (metricName.endsWith("_count")) sums.count = value;
    else if (le !== undefined && le !== "+Inf") {
      sums.boundaries.push(Number(le));
      sums.cumulative.push(value);
    }
  }
  return [...byLabels.values()].map(({ attributes, boundaries, cumulative, sum, count }) => ({
    ...times,
    attributes,
    value: {
      buckets: {
        boundaries,
        counts: [...cumulative, count].map((upTo, index) => upTo - (cumulative[index - 1] ?? 0)),
      },
      sum,
      count,
    },
  }));
}

function attributesOf(labels: Labels): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [otelAttribute(label), value]));
}

function hrTime(epochMs: number): HrTime {
  const seconds = Math.floor(epochMs / 1_000);
  return [seconds, Math.round((epochMs - seconds * 1_000) * 1_000_000)];
}
