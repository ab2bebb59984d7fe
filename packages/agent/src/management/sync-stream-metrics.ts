import { Gauge, Histogram, type Registry } from "@bunting/runtime";
import type { SyncStreamEndReason } from "../api/api-metrics.js";
import { overflowLabels, seriesLimit } from "./series-limit.js";

type Labels = Readonly<Record<string, string>>;

/** Of each metric, beside the one that counts the rest: clients choose selectors and provider ids. */
const maxStreamSeries = 100;
const streamBuckets = [30, 60, 300, 600, 1_800, 3_600, 10_800];

/** Counts SyncFlags streams under flagd's names, `feature_flag_flagd_sync_*`. */
export class SyncStreamMetrics {
  readonly #streams: Gauge;
  readonly #durations: Histogram;
  readonly #hasSeries = seriesLimit(maxStreamSeries);
  readonly #hasDurationSeries = seriesLimit(maxStreamSeries);

  constructor(registry: Registry) {
    const registers = [registry];
    this.#streams = new Gauge({
      name: "feature_flag_flagd_sync_active_streams",
      help: "Open SyncFlags streams of providers that evaluate in process.",
      labelNames: ["selector", "provider_id", "otel_metric_overflow"],
      registers,
    });
    this.#durations = new Histogram({
      name: "feature_flag_flagd_sync_stream_duration_seconds",
      help: "Seconds a SyncFlags stream lived, by the reason for its end.",
      labelNames: ["selector", "provider_id", "reason", "otel_metric_overflow"],
      buckets: streamBuckets,
      registers,
    });
  }

  opened(selector: string, providerId: string): void {
    this.#streams.inc(this.#labels(selector, providerId));
  }

  closed(selector: string, providerId: string, reason: SyncStreamEndReason, durationMs: number): void {
    this.#streams.dec(this.#labels(selector, providerId));
    // flagd does not tell a client that has gone from a stream that ended well.
    const named = reason === "client_disconnect" ? "normal_close" : reason;
    const labels = { ...streamLabels(selector, providerId), reason: named };
    const isOwn = this.#hasDurationSeries(JSON.stringify(labels));
    this.#durations.observe(isOwn ? labels : overflowLabels, durationMs / 1_000);
  }

  #labels(selector: string, providerId: string): Labels {
    const labels = streamLabels(selector, providerId);
    return this.#hasSeries(JSON.stringify(labels)) ? labels : overflowLabels;
  }
}

/** As in flagd, a stream without a selector or a provider id has no label for it. */
function streamLabels(selector: string, providerId: string): Labels {
  return {
    ...(selector === "" ? {} : { selector }),
    ...(providerId === "" ? {} : { provider_id: providerId }),
  };
}
