import type { Clock, Readiness } from "@bunting/runtime";
import type { SourceStatus } from "../sync/flag-source.js";

/**
 * Whether the agent is ready: as soon as every source has delivered a document, or its last-known-good copy was loaded. From then on, only
 * shutting down makes it unready. An unreachable source and stale flags are reported in the body and as metrics: if they took the agent out
 * of service, an outage of one proxy would take every workload down with it.
 */
export class AgentReadiness {
  readonly #clock: Clock;
  readonly #waitingFor: Set<number>;
  readonly #status: () => readonly SourceStatus[];
  #isStopping = false;

  constructor(options: {
    readonly sourceCount: number;
    readonly status: () => readonly SourceStatus[];
    readonly clock: Clock;
  }) {
    this.#clock = options.clock;
    this.#status = options.status;
    this.#waitingFor = new Set(Array.from({ length: options.sourceCount }, (_, index) => index));
  }

  /** To be called for each document that was accepted; true if it was the last one the agent waited for. */
  delivered(sourceIndex: number): boolean {
    return this.#waitingFor.delete(sourceIndex) && this.#waitingFor.size === 0;
  }

  stopping(): void {
    this.#isStopping = true;
  }

  check(): Readiness {
    if (this.#isStopping) return { isReady: false, reason: "shutting down" };
    const sources = this.#status();
    const lines = sources.map((source) => describe(source, this.#clock.now()));
    if (this.#waitingFor.size > 0) {
      const missing = [...this.#waitingFor].map((index) => sources[index]?.uri ?? String(index));
      return {
        isReady: false,
        reason: [`waiting for the first flags of ${missing.join(", ")}`, ...lines].join("\n"),
      };
    }
    const isStale = sources.some(({ state }) => state !== "connected");
    return {
      isReady: true,
      reason: [isStale ? "ready, but flags may be stale" : "ready", ...lines].join("\n"),
    };
  }
}

function describe(source: SourceStatus, now: number): string {
  const seconds = (since: number): string => `${Math.max(0, Math.round((now - since) / 1_000))} s`;
  const selector = source.selector === "" ? "" : ` (${source.selector})`;
  const age =
    source.lastUpdate === undefined ? "no flags yet" : `newest flags ${seconds(source.lastUpdate)} old`;
  const protocol = source.protocol === undefined ? "" : ` (${source.protocol})`;
  const reason = source.error ?? source.warning;
  return `source ${source.sourceIndex} ${source.uri}${selector}: ${source.state} for ${seconds(source.since)}${protocol}, ${age}${reason === undefined ? "" : `: ${reason}`}`;
}
