import type { JsonObject, PastVersion, TopicKey } from "@bunting/protocol";
import type { SourceReport, SourceSink } from "../flag-source.js";

/** Passes the reports of a FeatureFlag, and notes which remote flag provider its newest version names. */
export class NotingSink implements SourceSink {
  readonly #topic: TopicKey;
  readonly #sink: SourceSink;
  readonly #notes: { note(topic: TopicKey, provider: JsonObject | undefined): void };

  constructor(
    topic: TopicKey,
    sink: SourceSink,
    notes: { note(topic: TopicKey, provider: JsonObject | undefined): void },
  ) {
    this.#topic = topic;
    this.#sink = sink;
    this.#notes = notes;
  }

  get history(): readonly PastVersion[] | undefined {
    return this.#sink.history;
  }

  flags(): JsonObject | undefined {
    return this.#sink.flags?.();
  }

  report(report: SourceReport): void {
    // A version that is refused leaves the provider of the one before.
    this.#sink.report(report);
    if (report.kind === "document") this.#notes.note(this.#topic, report.provider);
    else if (report.kind === "deleted") this.#notes.note(this.#topic, undefined);
  }
}
