import type { FlagDocument, TopicKey } from "@bunting/protocol";
import type { RemoteReport } from "@bunting/remote";
import { cut, FairTurns, RateLimitedLog, type Context } from "@bunting/runtime";
import type { FlagSource, SourceSink } from "../flag-source.js";
import { keepUntil } from "../keep-until.js";
import { WrappingSource } from "../wrapping-source.js";
import type { FetchingSource } from "./fetching-source.js";
import { MergedTopic } from "./merged-topic.js";
import type { RemoteLanguage } from "./remote-language.js";
import type { RemoteCounts, RemoteMetrics } from "./remote-metrics.js";

export interface RemoteSourceOptions {
  /** The source of FeatureFlags and of remotes, as replicas share it and copies are kept of it. */
  readonly source: FlagSource;
  readonly remotes: Pick<FetchingSource, "reportOf" | "reports">;
  readonly language: Pick<RemoteLanguage, "parse" | "merging">;
  /** Does most of the work of reporting a large document beforehand, in slices of the event loop. */
  readonly prepare?: ((document: FlagDocument) => Promise<void>) | undefined;
  readonly context: Pick<Context<Pick<RemoteMetrics, "remoteCounts">>, "clock" | "logger" | "metrics">;
}

/** Another source, whose FeatureFlags are served with what their remote flag providers say. */
export class RemoteSource extends WrappingSource {
  readonly #options: RemoteSourceOptions;
  readonly #topics = new Map<TopicKey, MergedTopic>();
  readonly #remarks: RateLimitedLog;
  readonly #turns = new FairTurns();

  constructor(options: RemoteSourceOptions) {
    super(options.source);
    this.#options = options;
    this.#remarks = new RateLimitedLog(options.context.logger, options.context.clock);
    options.context.metrics.remoteCounts(() => this.#counts());
  }

  override watch(topic: TopicKey, sink: SourceSink, signal: AbortSignal, peer?: unknown): void {
    if (signal.aborted) return;
    const { language, prepare, context } = this.#options;
    const onRemarks = (remarks: readonly string[]): void => {
      if (remarks.length === 0) return;
      const fields = { topic, remarks: cut(remarks.join("; ")) };
      this.#remarks.info(
        "merged",
        fields,
        "the flags of a FeatureFlag and of its remote are not merged as they are",
        10,
      );
    };
    const merged = new MergedTopic({
      topic,
      sink,
      peer,
      source: this.source,
      merges: { language, prepare, turns: this.#turns, onRemarks },
      clock: context.clock,
    });
    keepUntil(signal, this.#topics, [topic, merged], () => merged.close());
    this.source.watch(topic, merged, signal, peer);
  }

  /** Undefined if the FeatureFlag names no provider. */
  remoteOf(topic: TopicKey): RemoteReport | undefined {
    const merged = this.#topics.get(topic);
    if (merged?.hasProvider !== true) return undefined;
    const { failure, provenance } = merged;
    const fetched = failure === undefined ? this.#options.remotes.reportOf(topic) : undefined;
    const told = failure ?? fetched?.state.failure;
    return {
      state: failure === undefined ? fetched?.state.kind : "never",
      reason: told?.reason,
      message: told?.message,
      sinceMs: fetched?.sinceMs,
      remarks: [...(fetched?.leftOut === undefined ? [] : [fetched.leftOut]), ...merged.remarks],
      provenance,
    };
  }

  #counts(): RemoteCounts {
    const nowMs = this.#options.context.clock.monotonicMs();
    const states = { starting: 0, synced: 0, stale: 0, never: 0, forbidden: 0, held: 0 };
    let oldestAnswerMs = 0;
    for (const { state, answeredMs } of this.#options.remotes.reports()) {
      states[state.kind]++;
      if (answeredMs !== undefined) oldestAnswerMs = Math.max(oldestAnswerMs, nowMs - answeredMs);
    }
    let merged = 0;
    for (const { provenance } of this.#topics.values()) if (provenance !== undefined) merged++;
    return { states, oldestAnswerMs, merged };
  }
}
