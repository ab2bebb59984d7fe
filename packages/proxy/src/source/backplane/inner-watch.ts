import type { JsonObject, TopicKey } from "@bunting/protocol";
import type { FlagSource, SourceSink, SourceReport } from "../flag-source.js";
import { isRefusedTrial } from "../trial.js";
import type { WatchReport } from "./known.js";

export interface InnerWatchOptions {
  readonly source: FlagSource;
  readonly topic: TopicKey;
  readonly peer: unknown;
  readonly nowMs: () => number;
  readonly reader: WatchReader;
}

export interface WatchReader {
  /** Receives each report. An error that it throws goes to the source, which then reports the topic as stale. */
  readonly onReport: (report: WatchReport) => void;
  readonly onStale: (reason: Error) => void;
  /** The flags of the newest state that this replica knows, for a watch that has not reported yet. */
  readonly flags: () => JsonObject | undefined;
}

/** A watch of this replica on a topic, from `open` to `close`. It keeps the last report of the source. */
export class InnerWatch implements SourceSink {
  readonly #options: InnerWatchOptions;
  readonly #closing = new AbortController();
  #lastReport: WatchReport | undefined;
  #staleReason: Error | undefined;

  constructor(options: InnerWatchOptions) {
    this.#options = options;
  }

  /** The last report, however old; undefined until there is one. */
  get lastReport(): WatchReport | undefined {
    return this.#lastReport;
  }

  /** Why the watch can't follow changes for now. */
  get staleReason(): Error | undefined {
    return this.#staleReason;
  }

  /** True if the last report is still valid. */
  get isCurrent(): boolean {
    return this.#lastReport !== undefined && this.#staleReason === undefined;
  }

  open(): void {
    const { source, topic, peer } = this.#options;
    source.watch(topic, this, this.#closing.signal, peer);
  }

  close(): void {
    this.#closing.abort();
  }

  flags(): JsonObject | undefined {
    return this.#lastReport === undefined ? this.#options.reader.flags() : this.#lastReport.document?.flags;
  }

  report(report: SourceReport): void {
    if (this.#closing.signal.aborted) return;
    if (report.kind === "stale") {
      // Where only a trial is refused, the report that it came with was taken, and is in force.
      if (!isRefusedTrial(report.reason)) this.#staleReason = report.reason;
      this.#options.reader.onStale(report.reason);
      return;
    }
    const watched = this.#watchReportOf(report);
    if (watched === undefined) return;
    const before = [this.#lastReport, this.#staleReason] as const;
    [this.#lastReport, this.#staleReason] = [watched, undefined];
    try {
      this.#options.reader.onReport(watched);
    } catch (error) {
      // The report was not taken: the last one stays.
      if (!isRefusedTrial(error)) [this.#lastReport, this.#staleReason] = before;
      throw error;
    }
  }

  /** Undefined for what is the same as a document that there was none of. */
  #watchReportOf(report: Exclude<SourceReport, { readonly kind: "stale" }>): WatchReport | undefined {
    switch (report.kind) {
      case "document":
        return {
          kind: report.kind,
          document: report.document,
          version: report.version,
          provider: report.provider,
        };
      case "sameDocument": {
        const last = this.#lastReport;
        return last?.kind === "document" ? { ...last, version: report.version } : undefined;
      }
      default:
        return { kind: report.kind, version: { noticedMs: this.#options.nowMs() } };
    }
  }
}
