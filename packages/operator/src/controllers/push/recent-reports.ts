import type { Clock } from "@bunting/runtime";
import type { ProxyAgents } from "../agents/proxy-agents.js";
import { toldByFlag, type TopicAgents } from "../agents/told-agents.js";

/** So long what the proxies said is taken for what they say. */
const freshMs = 1_000;

interface Reports {
  /** By key; undefined if it is not known of all proxies. */
  readonly told: ReadonlyMap<string, readonly TopicAgents[]> | undefined;
  readonly readMs: number;
}

/**
 * What all proxies say of a FeatureFlag. They are asked at most once a second, for all FeatureFlags together: there may be hundreds that are rolled out,
 * each may be edited as often as its owner likes, and an answer is about all that a proxy has.
 */
export class RecentReports {
  readonly #proxies: Pick<ProxyAgents, "read">;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #last: Reports | undefined;

  constructor(proxies: Pick<ProxyAgents, "read">, clock: Pick<Clock, "monotonicMs">) {
    this.#proxies = proxies;
    this.#clock = clock;
  }

  /** Undefined while it is not known of all proxies. */
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
