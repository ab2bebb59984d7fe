/** The labels of the series in which everything beyond a limit is counted, named as OpenTelemetry does. */
export const overflowLabels: Readonly<Record<string, string>> = { otel_metric_overflow: "true" };

/**
 * Whether a metric may have a series of its own for these labels, joined to one key: the first `max` keys, always the same. Labels that are
 * each bounded are not enough: clients choose several, and a scrape writes their product.
 */
export function seriesLimit(max: number): (key: string) => boolean {
  const known = new Set<string>();
  return (key) => {
    if (known.has(key)) return true;
    if (known.size >= max) return false;
    known.add(key);
    return true;
  };
}
