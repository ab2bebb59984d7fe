import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { answerPage, authorizationOf, type CallerTokens } from "@bunting/server";
import type { PageAccess } from "../access/page-access.js";
import type { AgentCounts } from "./agent-counts.js";
import { maxAskedAddresses, type AgentsOfAddresses } from "./agents-of-addresses.js";
import { statusPageHtml, statusPagePolicy } from "./gen/status-page-asset.js";
import { guardPage } from "./page-guard.js";
import { statusAccess, type StatusAudience } from "./status/status-access.js";
import type { StatusFeed } from "./status/status-feed.js";
import type { TopicsSection } from "./status/status-view.js";
import type { TopicQuery } from "./status/topic-rows.js";
import type { StatusReport } from "./status-report.js";

export interface StatusAnswers {
  readonly report: (seesSubscribers: boolean) => StatusReport;
  /** @param from position of a page; undefined: all */
  readonly agents: (from: number | undefined) => AgentCounts;
  readonly agentsOf: (addresses: readonly string[]) => AgentsOfAddresses;
  readonly feed: Pick<StatusFeed, "open">;
  readonly search: (query: TopicQuery, seesSubscribers: boolean) => TopicsSection;
}

/** Who may read the status from elsewhere. */
export interface StatusReaders {
  readonly pages?: Pick<PageAccess, "admit" | "watch" | "isByPermission"> | undefined;
  readonly tokens?: Pick<CallerTokens, "has"> | undefined;
}

/**
 * /status, in the form that the request accepts: a page for browsers, events for that page, else JSON: the whole report, or with
 * `?search=…&only=…&offset=…` one page of topics, or with `?agents` what the operator reads: with `&from=…` a page of it, with `&addresses=…` of some.
 *
 * @param readers.pages given where callers have an identity: then everyone who does not ask on loopback needs one. What subscribers are called is shown
 * on loopback, and to those whom RBAC lets read it.
 * @param readers.tokens let whoever presents one read it from anywhere
 */
export function statusPage(
  answers: StatusAnswers,
  audience: StatusAudience,
  { pages, tokens }: StatusReaders = {},
): RequestListener {
  const local = inForm(answers, true);
  const nameless = inForm(answers, false);
  const forOperator = inForm(answers, false, true);
  const remote =
    pages === undefined ? nameless : guardPage(pages, "/status", inForm(answers, pages.isByPermission));
  const hasToken = (request: IncomingMessage): boolean => tokens?.has(authorizationOf(request)) === true;
  return (request, response) => {
    const access = statusAccess(request, audience);
    const isLocal = access.isGranted && access.isLocal;
    if (!isLocal && audience !== "off" && hasToken(request)) forOperator(request, response);
    else if (!access.isGranted) answer(response, 403, "text/plain; charset=utf-8", `${access.refusal}.\n`);
    else if (access.isLocal) local(request, response);
    else remote(request, response);
  };
}

/**
 * @param seesSubscribers whether addresses and ServiceAccounts of subscribers are shown
 * @param knowsAddresses whether who asks about an address is told what there is from it
 */
function inForm(
  { report, agents, agentsOf, feed, search }: StatusAnswers,
  seesSubscribers: boolean,
  knowsAddresses = seesSubscribers,
): RequestListener {
  return (request, response) => {
    const accepts = request.headers.accept ?? "";
    const query = queryOf(request.url ?? "");
    const counts = countsQueryOf(request.url ?? "");
    const addresses = addressesOf(request.url ?? "");
    if (accepts.includes("text/event-stream")) feed.open(request, response, seesSubscribers);
    else if (accepts.includes("text/html")) {
      response.setHeader("content-security-policy", statusPagePolicy);
      response.setHeader("referrer-policy", "no-referrer");
      answer(response, 200, "text/html; charset=utf-8", statusPageHtml);
    } else if (addresses !== undefined && knowsAddresses)
      answer(response, 200, "application/json", `${JSON.stringify(agentsOf(addresses))}\n`);
    else if (counts !== undefined)
      answer(response, 200, "application/json", `${JSON.stringify(agents(counts.from))}\n`);
    else if (query !== undefined)
      answer(response, 200, "application/json", `${JSON.stringify(search(query, seesSubscribers))}\n`);
    else answer(response, 200, "application/json", `${JSON.stringify(report(seesSubscribers), null, 1)}\n`);
  };
}

/** Undefined unless the operator asks for agents. */
function countsQueryOf(url: string): { readonly from: number | undefined } | undefined {
  const found = /\?agents(?:=[^&]*)?(?:&from=(?<from>\d{1,9}))?(?:&|$)/.exec(url);
  if (found === null) return undefined;
  const from = found.groups?.["from"];
  return { from: from === undefined ? undefined : Number(from) };
}

/** Undefined unless it is asked what there is from some addresses. */
function addressesOf(url: string): readonly string[] | undefined {
  if (countsQueryOf(url) === undefined) return undefined;
  const asked = new URLSearchParams(url.slice(url.indexOf("?") + 1)).get("addresses");
  return asked === null ? undefined : asked.split(",", maxAskedAddresses).filter((each) => each !== "");
}

const maxSearchCharacters = 200;

/** Undefined unless one page of the topics is asked for. */
function queryOf(url: string): TopicQuery | undefined {
  const at = url.indexOf("?");
  if (at < 0) return undefined;
  const parameters = new URLSearchParams(url.slice(at + 1));
  if (!["search", "only", "offset"].some((name) => parameters.has(name))) return undefined;
  const offset = Number(parameters.get("offset") ?? 0);
  return {
    search: (parameters.get("search") ?? "").slice(0, maxSearchCharacters).trim().toLowerCase(),
    only: parameters.get("only") ?? "",
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  };
}

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.setHeader("vary", "accept");
  answerPage(response, status, type, body);
}
