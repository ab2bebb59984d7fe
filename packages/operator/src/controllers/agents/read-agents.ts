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

/** Limit of pages: a proxy has room for no more topics. */
const maxPages = 100;

/**
 * Reads how many agents a proxy has for each topic.
 *
 * @returns undefined if it is a proxy that does not say, such as the open-feature-operator's
 * @throws Error if it does not answer, or refuses to
 */
export async function readAgents(
  endpoint: ProxyEndpoint,
  signal: AbortSignal,
): Promise<readonly TopicAgents[] | undefined> {
  // A topic that ends and begins again meanwhile is on two pages: the later one is right.
  const topics = new Map<string, TopicAgents>();
  let from: number | undefined = 0;
  for (let pages = 0; from !== undefined; pages++) {
    const page = await readPage(endpoint, from, signal);
    if (page === undefined) return undefined;
    for (const each of page.topics) topics.set(each.topic, each);
    if (pages === maxPages) throw new Error(`/status has more than ${maxPages} pages of agents`);
    from = page.next;
  }
  return [...topics.values()];
}

interface AgentsPage {
  readonly topics: readonly TopicAgents[];
  readonly next: number | undefined;
}

/** A proxy that knows no pages answers with all topics at once. */
async function readPage(
  { host, port, token }: ProxyEndpoint,
  from: number,
  signal: AbortSignal,
): Promise<AgentsPage | undefined> {
  const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
  const page = { host, port, path: `/status?agents&from=${from}`, headers };
  const { statusCode, text } = await askProxy(page, signal);
  if (statusCode === 404) return undefined;
  if (statusCode !== 200) throw new Error(`/status answered ${statusCode}`);
  return pageIn(text);
}

/** Undefined where there is no list: a proxy from before there was one. */
function pageIn(text: string): AgentsPage | undefined {
  const { topics, next } = JSON.parse(text) as { readonly topics?: unknown; readonly next?: unknown };
  const listed = Array.isArray(topics) && topics.every(hasCounts) ? topics : undefined;
  return listed && { topics: listed, next: typeof next === "number" ? next : undefined };
}

function hasCounts(value: unknown): value is TopicAgents {
  const { topic, subscribers, current, refusing } = (value ?? {}) as Record<string, unknown>;
  return typeof topic === "string" && [subscribers, current, refusing].every(Number.isSafeInteger);
}
