import { request } from "node:http";
import type { TopicAgents } from "./told-agents.js";

const withinMs = 5_000;
/** Room for 20,000 topics. */
const maxBytes = 4 * 1024 * 1024;

/** The management port of a proxy. */
export interface ProxyEndpoint {
  /** An IP address. */
  readonly host: string;
  readonly port: number;
  /** One of its --status-token-file. */
  readonly token: string;
}

/**
 * Reads how many agents a proxy has for each topic.
 *
 * @returns undefined if it is a proxy that does not say, such as the open-feature-operator's
 * @throws Error if it does not answer, or refuses to
 */
export async function readAgents(
  proxy: ProxyEndpoint,
  signal: AbortSignal,
): Promise<readonly TopicAgents[] | undefined> {
  const text = await ask(proxy, signal);
  return text === undefined ? undefined : topicsIn(text);
}

/** Undefined: there is no such page. */
function ask({ host, port, token }: ProxyEndpoint, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const either = AbortSignal.any([signal, AbortSignal.timeout(withinMs)]);
    const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
    const options = { host, port, path: "/status?agents", headers, signal: either, agent: false };
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("error", reject);
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > maxBytes) sent.destroy(new Error(`its status is longer than ${maxBytes} bytes`));
      });
      response.on("end", () => {
        const { statusCode = 0 } = response;
        if (statusCode === 404) resolve(undefined);
        else if (statusCode !== 200) reject(new Error(`/status answered ${statusCode}`));
        else resolve(Buffer.concat(chunks).toString("utf8"));
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** Undefined where there is no list: a proxy from before there was one. */
function topicsIn(text: string): readonly TopicAgents[] | undefined {
  const { topics } = JSON.parse(text) as { readonly topics?: unknown };
  return Array.isArray(topics) && topics.every(hasCounts) ? topics : undefined;
}

function hasCounts(value: unknown): value is TopicAgents {
  const { topic, subscribers, current, refusing } = (value ?? {}) as Record<string, unknown>;
  return typeof topic === "string" && [subscribers, current, refusing].every(Number.isSafeInteger);
}
