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

const maxSearchCharacters = 200;

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
    const asked = new URLSearchParams(/\?.*$/.exec(request.url ?? "")?.[0]);
    const addresses = asked.get("addresses");
    const json = (value: unknown, indent?: number): void =>
      answer(response, 200, "application/json", `${JSON.stringify(value, null, indent)}\n`);
    if (accepts.includes("text/event-stream")) feed.open(request, response, seesSubscribers);
    else if (accepts.includes("text/html")) {
      response.setHeader("content-security-policy", statusPagePolicy);
      response.setHeader("referrer-policy", "no-referrer");
      answer(response, 200, "text/html; charset=utf-8", statusPageHtml);
    } else if (asked.has("agents") && addresses !== null && knowsAddresses)
      json(agentsOf(addresses.split(",", maxAskedAddresses).filter((each) => each !== "")));
    else if (asked.has("agents")) json(agents(positionOf(asked.get("from"))));
    else if (["search", "only", "offset"].some((name) => asked.has(name)))
      json(search(queryOf(asked), seesSubscribers));
    else json(report(seesSubscribers), 1);
  };
}

function queryOf(asked: URLSearchParams): TopicQuery {
  return {
    search: (asked.get("search") ?? "").slice(0, maxSearchCharacters).trim().toLowerCase(),
    only: asked.get("only") ?? "",
    offset: positionOf(asked.get("offset")) ?? 0,
  };
}

/** Undefined if it is none. */
function positionOf(text: string | null): number | undefined {
  return /^\d{1,9}$/.test(text ?? "") ? Number(text) : undefined;
}

function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.setHeader("vary", "accept");
  answerPage(response, status, type, body);
}
