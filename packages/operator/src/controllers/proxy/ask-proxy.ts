import { request } from "node:http";
import { boundedBytes, responseTo } from "@bunting/protocol";
import { withTimeLimit } from "@bunting/runtime";

const withinMs = 5_000;
/** The longest answer that is read: more than all metrics of a proxy, or a page of its agents. */
const maxBytes = 4 * 1024 * 1024;

/** A page of a proxy's management port. */
export interface ProxyPage {
  /** An IP address. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ProxyAnswer {
  readonly statusCode: number;
  readonly text: string;
}

/**
 * Reads a page of a proxy.
 *
 * @throws Error if it does not answer in time, or without end
 */
export async function askProxy(
  { host, port, path, headers = {} }: ProxyPage,
  signal: AbortSignal,
  timeoutMs = withinMs,
): Promise<ProxyAnswer> {
  return withTimeLimit(signal, timeoutMs, async (limit) => {
    const sent = request({ host, port, path, headers, signal: limit, agent: false });
    const answered = responseTo(sent);
    sent.end();
    const response = await answered;
    const bytes = await boundedBytes(response, maxBytes);
    if (bytes === undefined) throw new Error(`${path} is longer than ${maxBytes} bytes`);
    return { statusCode: response.statusCode ?? 0, text: bytes.toString() };
  });
}
