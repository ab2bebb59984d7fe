/**
 * The value of one series of a process's /metrics, for instance `name{label="value"}`.
 *
 * @param absent stands for a series that does not exist (yet)
 * @throws Error if there is no such series, so that a misspelt name fails a test
 */
export async function readMetric(management: string, series: string, absent?: number): Promise<number> {
  const text = await (await fetch(`${management}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  const value = line === undefined ? absent : Number(line.slice(series.length + 1));
  if (value === undefined || Number.isNaN(value)) throw new Error(`/metrics has no value of ${series}`);
  return value;
}
