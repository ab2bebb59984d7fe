import { askProxy } from "./ask-proxy.js";

/** The metric of our proxy, and of the open-feature-operator's. */
const metric = /^sync_active_streams(?:\{.*\})? (\d+)(?:\s|$)/;

/**
 * Reads from /metrics of a proxy how many streams of clients it has.
 *
 * @param host an IP address
 * @throws Error if it does not answer, or says nothing of streams
 */
export async function readActiveStreams(host: string, port: number, signal: AbortSignal): Promise<number> {
  const { statusCode, text } = await askProxy({ host, port, path: "/metrics" }, signal);
  const counts = streamsOf(text);
  if (statusCode === 200 && counts.length > 0) return counts.reduce((a, b) => a + b);
  throw new Error(`/metrics answered ${statusCode} without sync_active_streams`);
}

function streamsOf(text: string): readonly number[] {
  return text.split("\n").flatMap((line) => {
    const [, count] = metric.exec(line) ?? [];
    return count === undefined ? [] : [Number(count)];
  });
}
