import type { RequestListener } from "node:http";
import type { Clock, Readiness } from "@bunting/runtime";
import { answerPage, outsideReason } from "@bunting/server";
import { shownUri } from "../sync/shown-uri.js";
import type { SourceStatus } from "../sync/sync-source.js";
import { version } from "../version.js";

export interface SourcesPageOptions {
  readonly readiness: () => Readiness;
  readonly sources: () => readonly SourceStatus[];
  readonly clock: Clock;
}

/** /status: how the sources are, as JSON, and the names of the flags of remotes, but no flags. As that of a proxy it is told on loopback only. */
export function agentStatus({ readiness, sources, clock }: SourcesPageOptions): RequestListener {
  return (request, response) => {
    const refusal = outsideReason(request);
    if (refusal !== undefined) {
      answerPage(response, 403, "text/plain; charset=utf-8", `${refusal}.\n`);
      return;
    }
    const { isReady, reason } = readiness();
    const [headline = ""] = reason.split("\n", 1);
    const shown = sources().map((source) => sourceView(source, clock.now()));
    const status = { version, isReady, reason: headline, sources: shown };
    answerPage(response, 200, "application/json", `${JSON.stringify(status, null, 1)}\n`);
  };
}

function sourceView(source: SourceStatus, nowMs: number): object {
  const { sourceIndex, uri, selector, state, since, lastUpdate, error, warning, protocol, remote } = source;
  const seconds = (ms: number): number => Math.max(0, Math.round((nowMs - ms) / 100) / 10);
  return {
    source: sourceIndex,
    uri: shownUri(uri),
    ...(selector === "" ? {} : { selector }),
    state,
    forSeconds: seconds(since),
    ...(lastUpdate === undefined ? {} : { newestSeconds: seconds(lastUpdate) }),
    ...(protocol === undefined ? {} : { protocol }),
    ...(error === undefined ? {} : { error }),
    ...(warning === undefined ? {} : { warning }),
    ...(remote === undefined ? {} : { remote }),
  };
}
