import {
  historyLength,
  type JsonObject,
  type PastVersion,
  type TopicKey,
  type TrialCounts,
} from "@bunting/protocol";
import type { Clock } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { DocumentReport, SourceSink, SourceVersion, SourceReport } from "../flag-source.js";
import { isRefusedTrial } from "../trial.js";
import { historyAfter } from "../history-after.js";
import type { CopiedDocument } from "./copied-document.js";
import type { TopicCopies } from "./topic-copies.js";

export interface CachedTopicOptions {
  readonly topic: TopicKey;
  readonly sink: SourceSink;
  readonly copies: TopicCopies;
  readonly clock: Clock;
  readonly onServed: (topic: TopicKey, reason: Error) => void;
  /** Called when the source has confirmed or replaced the copy that is served, or the topic ends. */
  readonly onConfirmed: () => void;
}

/** Time of the source for its first answer, after which the copy is served. If the source reports staleness, it is served at once. */
const answerTimeoutMs = 1_000;

/** A larger copy is not parsed only for its history. */
const maxComparedBytes = 1024 * 1024;

/**
 * Stands between the source and a topic. Until the first answer of the source, the copy on disk is served as stale. From
 * then on the reports of the source are served, and kept as the copy.
 */
export class CachedTopic implements SourceSink {
  readonly #options: CachedTopicOptions;
  /** Aborts at the first answer of the source, or when the topic ends. */
  readonly #answered = new AbortController();
  readonly #closing = new AbortController();
  /** The source's document while the copy is read only for its history. */
  #newest: DocumentReport | undefined;
  readonly #awaiting = new Set<() => void>();
  #cancelTimeout = (): void => undefined;
  /** The source's reason for staleness, if it gave one. */
  #reason: Error = new ProxyError("SOURCE_UNREADABLE", "the source has not answered yet");
  #isLoading = false;
  #isCopyServed = false;

  constructor(options: CachedTopicOptions) {
    this.#options = options;
  }

  /** True until the first answer of the source. */
  get isUnconfirmed(): boolean {
    return !this.#answered.signal.aborted;
  }

  get history(): readonly PastVersion[] | undefined {
    return this.#options.sink.history;
  }

  flags(): JsonObject | undefined {
    return this.#options.sink.flags?.();
  }

  trialCounts(): TrialCounts | undefined {
    return this.#options.sink.trialCounts?.();
  }

  open(): void {
    const { copies, topic, clock } = this.#options;
    copies.open(topic);
    this.#cancelTimeout = clock.after(answerTimeoutMs, () => this.#load());
  }

  close(): void {
    this.#awaiting.clear();
    this.#closing.abort();
    this.#settle();
    this.#options.copies.close(this.#options.topic);
  }

  /** Calls back once the source has answered. Returns a function that cancels. */
  awaitAnswer(done: () => void): () => void {
    this.#awaiting.add(done);
    return () => void this.#awaiting.delete(done);
  }

  report(report: SourceReport): void {
    try {
      this.#options.sink.report(report);
    } catch (error) {
      // It is served all the same, so the copy must not take its place.
      if (report.kind === "document" && isRefusedTrial(error)) this.#keep(report);
      throw error;
    }
    switch (report.kind) {
      case "document":
        this.#keep(report);
        return;
      case "sameDocument":
        if (this.#newest !== undefined) this.#newest = { ...this.#newest, version: report.version };
        return;
      case "missing":
      case "deleted":
        this.#forget();
        return;
      case "stale":
        this.#newest = undefined;
        this.#reason = report.reason;
        this.#load();
    }
  }

  /** Serves the copy, if there was no memory for it before. Undefined if it is not to be served. */
  offerAgain(): Promise<void> | undefined {
    return this.isUnconfirmed && this.#isLoading && !this.#isCopyServed ? this.#read() : undefined;
  }

  #keep(report: DocumentReport): void {
    if (this.isUnconfirmed && !this.#isLoading) this.#readHistory(report);
    else if (this.#newest !== undefined) this.#newest = report;
    this.#copy(report);
    this.#settle();
  }

  #forget(): void {
    const { copies, topic } = this.#options;
    this.#newest = undefined;
    copies.forget(topic);
    this.#settle();
  }

  /** The source answered before the copy was read. Agents may hold the version of the copy or an earlier one: its history is kept. */
  #readHistory(newest: DocumentReport): void {
    const { copies, topic } = this.#options;
    this.#newest = newest;
    const take = (copied: CopiedDocument): void => this.#takeHistory(copied);
    void copies
      .load(topic, take, this.#closing.signal, maxComparedBytes)
      .then(() => (this.#newest = undefined));
  }

  #takeHistory(copied: CopiedDocument): void {
    const { sink } = this.#options;
    const newest = this.#newest;
    const own = sink.history ?? [];
    // The source's own history is longer: the copy adds nothing.
    if (newest === undefined || own.length > (copied.history?.length ?? 0)) return;
    const through = historyAfter(copied, newest.document) ?? [];
    if (through.length === 0) return;
    sink.report({ ...newest, history: [...through, ...own].slice(-historyLength) });
    this.#copy(newest);
  }

  #copy({ document, provider, version }: DocumentReport): void {
    const { sink, copies, topic } = this.#options;
    copies.keep(topic, { document, history: sink.history, provider }, version);
  }

  #load(): void {
    if (this.#isLoading || !this.isUnconfirmed) return;
    this.#isLoading = true;
    this.#cancelTimeout();
    void this.#read();
  }

  #read(): Promise<void> {
    const { copies, topic } = this.#options;
    const take = (copied: CopiedDocument, version: SourceVersion): void => this.#serve(copied, version);
    return copies.load(topic, take, this.#answered.signal);
  }

  #serve({ document, history, provider }: CopiedDocument, version: SourceVersion): void {
    // It may have been read twice at once.
    if (this.#isCopyServed) return;
    const { sink, topic, onServed } = this.#options;
    sink.report({ kind: "document", document, version, history, provider });
    sink.report({ kind: "stale", reason: this.#reason });
    this.#isCopyServed = true;
    onServed(topic, this.#reason);
  }

  #settle(): void {
    if (!this.isUnconfirmed) return;
    this.#answered.abort();
    this.#cancelTimeout();
    if (this.#isCopyServed) this.#options.onConfirmed();
    const answered = [...this.#awaiting];
    this.#awaiting.clear();
    for (const done of answered) done();
  }
}
