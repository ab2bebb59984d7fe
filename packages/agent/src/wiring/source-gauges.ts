import type { AgentWiring } from "./agent-wiring.js";

type Metrics = AgentWiring["context"]["metrics"];

/** Gauges of sources go by their places, which those of another generation have as well: a generation's are recorded only while it is served. */
export class SourceGauges {
  /** For the parts of the generation. */
  readonly metrics: Metrics;
  /** The last record of each gauge and place. */
  readonly #last = new Map<string, () => void>();

  constructor(metrics: Metrics, isServed: () => boolean) {
    const held =
      <Args extends readonly unknown[]>(name: string, record: (...args: Args) => void) =>
      (...args: Args): void => {
        const show = (): void => record(...args);
        this.#last.set([name, ...args.slice(0, -1)].join(" "), show);
        if (isServed()) show();
      };
    this.metrics = {
      ...metrics,
      connected: held("connected", metrics.connected),
      empty: held("empty", metrics.empty),
      stale: held("stale", metrics.stale),
      documentConfirmed: held("confirmed", metrics.documentConfirmed),
      speaks: held("speaks", metrics.speaks),
      documentBytes: held("bytes", metrics.documentBytes),
      flagsServed: held("served", metrics.flagsServed),
      flagsRejected: held("rejected", metrics.flagsRejected),
    };
  }

  /** Records what was not, as the generation is served from now on. */
  show(): void {
    for (const show of this.#last.values()) show();
  }
}
