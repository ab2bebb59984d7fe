import { askProxy } from "../proxy/ask-proxy.js";
import type { TrialCounts, AgentsOfAddress } from "@bunting/protocol";
import type { ToldRemote } from "./remote-verdicts.js";
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
  endpoint: ProxyEndpoint,
  from: number,
  signal: AbortSignal,
): Promise<AgentsPage | undefined> {
  const answer = await readStatus(endpoint, `/status?agents&from=${from}`, signal);
  // A proxy from before there was a list has none.
  const { topics, next } = answer as { readonly topics?: unknown; readonly next?: unknown };
  const listed = Array.isArray(topics) && topics.every(hasCounts) ? topics : undefined;
  return listed && { topics: listed, next: typeof next === "number" ? next : undefined };
}

/** A proxy answers for no more than 128. */
const addressesAtOnce = 100;

/**
 * Reads what a proxy's subscribers from these addresses have.
 *
 * @returns undefined if it is a proxy that does not say
 * @throws Error if it does not answer, or refuses to
 */
export async function readAgentsOf(
  endpoint: ProxyEndpoint,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<readonly AgentsOfAddress[] | undefined> {
  const all: AgentsOfAddress[] = [];
  for (let from = 0; from === 0 || from < addresses.length; from += addressesAtOnce) {
    const some = addresses.slice(from, from + addressesAtOnce).map((each) => encodeURIComponent(each));
    const answer = await readStatus(endpoint, `/status?agents&addresses=${some.join()}`, signal);
    const { addresses: told } = answer as { readonly addresses?: unknown };
    if (!Array.isArray(told) || !told.every(isOfAddress)) return undefined;
    all.push(...told);
  }
  return all;
}

/** An empty answer if there is no such page. */
async function readStatus(
  { host, port, token }: ProxyEndpoint,
  path: string,
  signal: AbortSignal,
): Promise<object> {
  const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
  const { statusCode, text } = await askProxy({ host, port, path, headers }, signal);
  if (statusCode === 404) return {};
  if (statusCode !== 200) throw new Error(`/status answered ${statusCode}`);
  return JSON.parse(text) as object;
}

function isOfAddress(value: unknown): value is AgentsOfAddress {
  const { address, subscriptions, current, lists = [] } = (value ?? {}) as Record<string, unknown>;
  const hasLists = Array.isArray(lists) && lists.every((each) => typeof each === "string");
  return typeof address === "string" && [subscriptions, current].every(Number.isSafeInteger) && hasLists;
}

function hasCounts(value: unknown): value is TopicAgents {
  const { topic, subscribers, current, refusing, trial, remote } = (value ?? {}) as Record<string, unknown>;
  const hasParts = (trial === undefined || isTrial(trial)) && (remote === undefined || isRemote(remote));
  return (
    typeof topic === "string" && [subscribers, current, refusing].every(Number.isSafeInteger) && hasParts
  );
}

/** Any words: a proxy that is newer than the operator may have others. */
function isRemote(value: unknown): value is ToldRemote {
  const { state = "", reason = "", message = "", remarks = "" } = (value ?? {}) as Record<string, unknown>;
  return [state, reason, message, remarks].every((word) => typeof word === "string");
}

function isTrial(value: unknown): value is TrialCounts {
  const { digest, reach, agents, lowest, wave, current, refusals, reason } = (value ?? {}) as Record<
    string,
    unknown
  >;
  return (
    typeof digest === "string" &&
    [reach, agents, wave, current, refusals, lowest ?? 0].every(Number.isSafeInteger) &&
    typeof (reason ?? "") === "string"
  );
}
