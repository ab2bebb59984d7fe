import { request } from "node:http";

/** The metric of our proxy, and of the open-feature-operator's. */
const metric = /^sync_active_streams(?:\{.*\})? (\d+)(?:\s|$)/;
const withinMs = 5_000;
/** The longest answer that is read: more than all metrics of a proxy. */
const maxBytes = 4 * 1024 * 1024;

/**
 * Reads from /metrics of a proxy how many streams of clients it has.
 *
 * @param host an IP address
 * @throws Error if it does not answer, or says nothing of streams
 */
export function readActiveStreams(host: string, port: number, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    const either = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
    const sent = request({ host, port, path: "/metrics", signal: either, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("error", reject);
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > maxBytes) sent.destroy(new Error(`its metrics are longer than ${maxBytes} bytes`));
      });
      response.on("end", () => {
        const counts = streamsOf(Buffer.concat(chunks).toString("utf8"));
        if (response.statusCode === 200 && counts.length > 0) resolve(counts.reduce((a, b) => a + b));
        else reject(new Error(`/metrics answered ${response.statusCode ?? 0} without sync_active_streams`));
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}

function streamsOf(text: string): readonly number[] {
  return text.split("\n").flatMap((line) => {
    const [, count] = metric.exec(line) ?? [];
    return count === undefined ? [] : [Number(count)];
  });
}
