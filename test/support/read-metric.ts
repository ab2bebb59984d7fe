/** The value of one series of a process's /metrics, for instance `name{label="value"}`; NaN if there is none. */
export async function readMetric(management: string, series: string): Promise<number> {
  const text = await (await fetch(`${management}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? Number.NaN);
}
