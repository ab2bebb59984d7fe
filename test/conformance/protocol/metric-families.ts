import type { MetricFamily } from "./answer.js";

/** The metrics of a scrape that have names of flagd's, without sums, buckets, and what depends on the machine. */
export function metricFamilies(text: string): Readonly<Record<string, MetricFamily>> {
  const families = new Map<string, { type: string; series: Record<string, number> }>();
  for (const line of text.split("\n")) {
    const [, declared = "", type = ""] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
    if (declared !== "") families.set(declared, { type, series: {} });
    const [, name = "", labels = "", value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const family =
      families.get(name) ?? (name.endsWith("_count") ? families.get(name.slice(0, -6)) : undefined);
    if (family !== undefined) family.series[seriesName(labels)] = Number(value);
  }
  const ofFlagd = [...families].filter(
    ([name, { type, series }]) =>
      /^(feature_flag_|http_server_|rpc_server_|target_info$)/.test(name) &&
      !(type === "gauge" && Object.keys(series).length === 0),
  );
  return Object.fromEntries(
    ofFlagd.map(([name, { type, series }]) => [
      name,
      { type, series: name === "target_info" ? labelNames(series) : series },
    ]),
  );
}

function seriesName(labels: string): string {
  return [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)]
    .filter(([, name = ""]) => !/^(otel_scope_\w+|server_port|network_peer_port)$/.test(name))
    .map(([label]) => label)
    .sort()
    .join(",");
}

function labelNames(series: Readonly<Record<string, number>>): string {
  return Object.keys(series)
    .map((labels) => labels.replaceAll(/="[^"]*"/g, ""))
    .join();
}
