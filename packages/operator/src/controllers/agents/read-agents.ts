import { askProxy } from "../proxy/ask-proxy.js";
import type { TopicAgents } from "./told-agents.js";

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
  { host, port, token }: ProxyEndpoint,
  signal: AbortSignal,
): Promise<readonly TopicAgents[] | undefined> {
  const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
  const page = { host, port, path: "/status?agents", headers };
  const { statusCode, text } = await askProxy(page, signal);
  if (statusCode === 404) return undefined;
  if (statusCode !== 200) throw new Error(`/status answered ${statusCode}`);
  return topicsIn(text);
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
