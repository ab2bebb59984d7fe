import type { Clock } from "@bunting/runtime";
import type { ProxyAgents } from "../agents/proxy-agents.js";
import { toldByFlag, type TopicAgents } from "../agents/told-agents.js";

/** Reports of the proxies are reused for this time. */
const freshMs = 1_000;

interface Reports {
  /** The reports by FeatureFlag; undefined if a proxy gave none. */
  readonly told: ReadonlyMap<string, readonly TopicAgents[]> | undefined;
  readonly readMs: number;
}

/**
 * What all proxies report about a FeatureFlag. The proxies are asked at most once a second, for all FeatureFlags together: an answer covers all topics
 * of a proxy anyway, hundreds of FeatureFlags may be rolled out at once, and their owners may edit them as often as they like.
 */
export class RecentReports {
  readonly #proxies: Pick<ProxyAgents, "read">;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #last: Reports | undefined;

  constructor(proxies: Pick<ProxyAgents, "read">, clock: Pick<Clock, "monotonicMs">) {
    this.#proxies = proxies;
    this.#clock = clock;
  }

  /** The reports about the FeatureFlag; undefined while a proxy gives none. */
  async of(key: string, signal: AbortSignal): Promise<readonly TopicAgents[] | undefined> {
    if (this.#last === undefined || this.#clock.monotonicMs() - this.#last.readMs >= freshMs) {
      const reports = await this.#proxies.read(signal);
      this.#last = { told: reports && toldByFlag(reports), readMs: this.#clock.monotonicMs() };
    }
    const { told } = this.#last;
    return told && (told.get(key) ?? []);
  }

  clear(): void {
    this.#last = undefined;
  }
}
