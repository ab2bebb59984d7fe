import type { FlagDocument, JsonObject, TopicKey } from "@bunting/protocol";
import type { FlagSource, SourceSink, SourceVersion } from "../flag-source.js";
import type { WatchReport } from "./known.js";

export interface InnerWatchOptions {
  readonly source: FlagSource;
  readonly topic: TopicKey;
  readonly peer: unknown;
  readonly nowMs: () => number;
  /** Receives each report. An error that it throws goes to the source, which then calls `stale`. */
  readonly onReport: (report: WatchReport) => void;
  readonly onStale: (reason: Error) => void;
}

/** A watch of this replica on a topic, from `open` to `close`. It turns the calls of a source into the last report. */
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
    return this.#lastReport?.document?.flags;
  }

  document(document: FlagDocument, version: SourceVersion): void {
    this.#report({ kind: "document", document, version });
  }

  sameDocument(version: SourceVersion): void {
    const document = this.#lastReport?.document;
    if (document !== undefined) this.#report({ kind: "document", document, version });
  }

  missing(): void {
    this.#report({ kind: "missing", version: { noticedMs: this.#options.nowMs() } });
  }

  deleted(): void {
    this.#report({ kind: "deleted", version: { noticedMs: this.#options.nowMs() } });
  }

  stale(reason: Error): void {
    if (this.#closing.signal.aborted) return;
    this.#staleReason = reason;
    this.#options.onStale(reason);
  }

  #report(report: WatchReport): void {
    if (this.#closing.signal.aborted) return;
    const before = [this.#lastReport, this.#staleReason] as const;
    [this.#lastReport, this.#staleReason] = [report, undefined];
    try {
      this.#options.onReport(report);
    } catch (error) {
      // The report was not taken: the last one stays.
      [this.#lastReport, this.#staleReason] = before;
      throw error;
    }
  }
}
