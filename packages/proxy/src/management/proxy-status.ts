import type { RequestListener } from "node:http";
import { sleep, type Runnable } from "@bunting/runtime";
import { agentCounts } from "./agent-counts.js";
import { agentsOfAddresses } from "./agents-of-addresses.js";
import { lateSubscribers } from "./status/late-subscribers.js";
import { readStatus, remoteViews, searchTopics, timesOf, type StatusParts } from "./status/read-status.js";
import type { StatusAudience } from "./status/status-access.js";
import { StatusFeed } from "./status/status-feed.js";
import { statusPage, type StatusReaders } from "./status-page.js";
import { statusReport } from "./status-report.js";

/** /status, and its few observations between requests. */
export class ProxyStatus implements Runnable {
  readonly name = "status history";
  readonly page: RequestListener;
  readonly #parts: StatusParts;

  constructor(parts: StatusParts, audience: StatusAudience, readers: StatusReaders) {
    this.#parts = parts;
    const { clock } = parts.clocks;
    const feed = new StatusFeed({ clock, read: (viewers) => readStatus(parts, viewers) });
    this.page = statusPage(
      {
        report: (seesReaders) => statusReport(parts, seesReaders),
        agents: (from) => agentCounts(parts.topics(), from, remoteViews(parts)),
        agentsOf: (addresses) => {
          const followers = parts.subscribers.followers?.() ?? [];
          return agentsOfAddresses({ topics: parts.topics(), followers }, addresses, timesOf(parts));
        },
        feed,
        search: (query, seesSubscribers) => searchTopics(parts, query, seesSubscribers),
      },
      audience,
      readers,
    );
  }

  /** Records every few seconds how many subscribers are late. */
  async run(signal: AbortSignal): Promise<void> {
    const { observations, topics, clocks } = this.#parts;
    const { history } = observations;
    while (!signal.aborted) {
      history.late(lateSubscribers(topics(), timesOf(this.#parts), 0).total);
      await sleep(history.stepMs, signal, clocks.clock);
    }
  }
}
