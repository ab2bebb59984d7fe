import type { AgentWiring } from "./agent-wiring.js";

type Metrics = AgentWiring["context"]["metrics"];

/** Metrics whose gauges of sources are recorded only while that is so: gauges go by places, which the sources of another generation have as well. */
export function recordedWhile(metrics: Metrics, isServed: () => boolean): Metrics {
  const held =
    <Args extends readonly unknown[]>(record: (...args: Args) => void) =>
    (...args: Args): void => {
      if (isServed()) record(...args);
    };
  return {
    ...metrics,
    connected: held(metrics.connected),
    empty: held(metrics.empty),
    stale: held(metrics.stale),
    documentConfirmed: held(metrics.documentConfirmed),
    speaks: held(metrics.speaks),
    documentBytes: held(metrics.documentBytes),
    flagsServed: held(metrics.flagsServed),
    flagsRejected: held(metrics.flagsRejected),
  };
}
