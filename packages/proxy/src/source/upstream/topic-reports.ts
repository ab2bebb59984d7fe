import type { FlagDocument, PastVersion } from "@bunting/protocol";
import { versionFields, type DocumentVersion } from "@bunting/sync-client/messages";
import type { Clock } from "@bunting/runtime";
import type { AbsenceReport, SourceReport, SourceSink, SourceVersion } from "../flag-source.js";
import { isRefusedTrial, type Trial } from "../trial.js";

/** The last report of what a topic is. Staleness comes beside it, and ends when it is repeated. */
type LastReport = AbsenceReport | { readonly kind: "sameDocument"; readonly version: DocumentVersion };

/**
 * The reports of an upstream's topic to its sink.
 *
 *     what has happened                     last report   what the sink receives
 *     a document, or the same one again     sameDocument  document, or sameDocument
 *     missing, or gone                      missing       missing
 *     deleted                               deleted       deleted
 *     refused by the upstream or by us      as before     stale
 *     the upstream is stale                 as before     stale
 *     the upstream is fresh again           as before     the last report again, but stale while the newest answer is refused
 *
 * A refusal lasts until the next answer, the upstream's staleness until the upstream ends it.
 */
export class TopicReports {
  readonly #sink: SourceSink;
  readonly #clock: Clock;
  #last: LastReport | undefined;
  #refused: Error | undefined;
  /** A newer version, which some agents are to try. It comes beside the reports, and with each document. */
  #trial: Trial | undefined;
  #upstreamIsStale: Error | undefined;

  constructor(sink: SourceSink, clock: Clock) {
    this.#sink = sink;
    this.#clock = clock;
  }

  get trial(): Trial | undefined {
    return this.#trial;
  }

  /** The sink's last report is a document, which is in force. */
  get isDocument(): boolean {
    return this.#last?.kind === "sameDocument";
  }

  get refused(): Error | undefined {
    return this.#refused;
  }

  get isUpstreamStale(): boolean {
    return this.#upstreamIsStale !== undefined;
  }

  /** @throws if the document can't be encoded; the last report then stays as it was */
  document(document: FlagDocument, version: DocumentVersion, history?: readonly PastVersion[]): void {
    this.#tell({ kind: "document", document, version: this.#sourceVersion(version), history });
    this.#last = { kind: "sameDocument", version };
  }

  report(report: LastReport): void {
    this.#last = report;
    this.#repeat();
  }

  tried(trial: Trial | undefined): void {
    this.#trial = trial;
    if (!this.isDocument) return;
    this.#repeat();
    this.repeatStale();
  }

  /** For now the topic can't be followed; the next report ends that. */
  stale(reason: Error): void {
    this.#sink.report({ kind: "stale", reason });
  }

  refuse(reason: Error): void {
    this.#refused = reason;
    this.#sink.report({ kind: "stale", reason });
  }

  /** A new answer comes, which replaces the one that was refused. */
  forgetRefusal(): void {
    this.#refused = undefined;
  }

  /** @param reason why the upstream can't follow the topic; undefined if it can, again */
  upstreamStale(reason: Error | undefined): void {
    this.#upstreamIsStale = reason;
    if (!this.repeatStale()) this.#repeat();
  }

  forgetUpstreamStale(): void {
    this.#upstreamIsStale = undefined;
  }

  /** Reports staleness again, if there is any. Returns whether there was. */
  repeatStale(): boolean {
    const reason = this.#upstreamIsStale ?? this.#refused;
    if (reason !== undefined) this.#sink.report({ kind: "stale", reason });
    return reason !== undefined;
  }

  #repeat(): void {
    const last = this.#last;
    if (last?.kind === "sameDocument")
      this.#tell({ kind: last.kind, version: this.#sourceVersion(last.version) });
    else if (last !== undefined) this.#sink.report(last);
  }

  /** Where only the trial is refused, nobody here tries it, and the upstream waits. It is reported again with the next version. */
  #tell(report: SourceReport): void {
    try {
      this.#sink.report(report);
    } catch (error) {
      if (!isRefusedTrial(error)) throw error;
    }
  }

  #sourceVersion(version: DocumentVersion): SourceVersion {
    const trial = this.#trial === undefined ? {} : { trial: this.#trial };
    return { noticedMs: this.#clock.monotonicMs(), ...versionFields(version), ...trial };
  }
}
