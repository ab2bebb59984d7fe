import type { FlagDocument, TopicKey } from "@bunting/protocol";
import type { FlagSource, SourceSink, SourceVersion } from "../flag-source.js";
import type { Said } from "./known.js";

export interface InnerWatchOptions {
  readonly source: FlagSource;
  readonly topic: TopicKey;
  readonly asker: unknown;
  readonly nowMs: () => number;
  /** The watch says what the topic is. What this throws is thrown to the source, which then says `stale`. */
  readonly onSaid: (said: Said) => void;
  readonly onStale: (reason: Error) => void;
}

/** A watch of this replica on a topic, from its opening to `close`. */
export class InnerWatch implements SourceSink {
  readonly #options: InnerWatchOptions;
  readonly #closing = new AbortController();
  #said: Said | undefined;
  #staleReason: Error | undefined;

  constructor(options: InnerWatchOptions) {
    this.#options = options;
  }

  /** What it said last, however long ago; undefined until it has answered. */
  get said(): Said | undefined {
    return this.#said;
  }

  /** Why it can't follow changes for now. */
  get staleReason(): Error | undefined {
    return this.#staleReason;
  }

  /** True if what it said is what the topic is, as far as it knows. */
  get isCurrent(): boolean {
    return this.#said !== undefined && this.#staleReason === undefined;
  }

  open(): void {
    const { source, topic, asker } = this.#options;
    source.watch(topic, this, this.#closing.signal, asker);
  }

  close(): void {
    this.#closing.abort();
  }

  document(document: FlagDocument, version: SourceVersion): void {
    this.#say({ kind: "document", document, version });
  }

  sameDocument(version: SourceVersion): void {
    const document = this.#said?.document;
    if (document !== undefined) this.#say({ kind: "document", document, version });
  }

  missing(): void {
    this.#say({ kind: "missing", version: { noticedMs: this.#options.nowMs() } });
  }

  deleted(): void {
    this.#say({ kind: "deleted", version: { noticedMs: this.#options.nowMs() } });
  }

  stale(reason: Error): void {
    if (this.#closing.signal.aborted) return;
    this.#staleReason = reason;
    this.#options.onStale(reason);
  }

  #say(said: Said): void {
    if (this.#closing.signal.aborted) return;
    const before = [this.#said, this.#staleReason] as const;
    [this.#said, this.#staleReason] = [said, undefined];
    try {
      this.#options.onSaid(said);
    } catch (error) {
      // It was not taken: the topic is as it was.
      [this.#said, this.#staleReason] = before;
      throw error;
    }
  }
}
