import type { FlagDocument, TopicKey } from "@bunting/protocol";
import { ProxyError } from "../../proxy-error.js";
import type { SourceSink } from "../flag-source.js";
import type { TopicClaims } from "./topic-claims.js";

/** The last report to a sink. */
interface Watch {
  readonly sink: SourceSink;
  document: FlagDocument | undefined;
  missingOrDeleted: "missing" | "deleted" | undefined;
  error: Error | undefined;
}

/** Reports the changes of each topic's claim to its sink. A sink that is added late gets the current state. */
export class TopicWatches {
  readonly #claims: TopicClaims;
  readonly #isAbsentWhileLost: boolean;
  readonly #onFailed: (path: string, error: unknown) => void;
  readonly #watches = new Map<TopicKey, Watch>();
  #hasSynced = false;
  #lost: Error | undefined;

  /**
   * @param isAbsentWhileLost a topic that was never served counts as missing even while the directory can't be read
   * @param onFailed called when a sink fails on the document of a file; the topic is then stale
   */
  constructor(
    claims: TopicClaims,
    isAbsentWhileLost: boolean,
    onFailed: (path: string, error: unknown) => void,
  ) {
    this.#claims = claims;
    this.#isAbsentWhileLost = isAbsentWhileLost;
    this.#onFailed = onFailed;
  }

  open(topic: TopicKey, sink: SourceSink, signal: AbortSignal): void {
    if (signal.aborted) return;
    const watch: Watch = { sink, document: undefined, missingOrDeleted: undefined, error: undefined };
    const close = (): void => {
      if (this.#watches.get(topic) === watch) this.#watches.delete(topic);
    };
    signal.addEventListener("abort", close, { once: true });
    queueMicrotask(() => {
      if (signal.aborted) return;
      this.#watches.set(topic, watch);
      this.#report(topic, watch);
    });
  }

  /** The claims on the topic changed. */
  refresh(topic: TopicKey): void {
    const watch = this.#watches.get(topic);
    if (watch !== undefined) this.#report(topic, watch);
  }

  /** Reports the document once more, as if it were new. */
  offerAgain(topic: TopicKey): void {
    const watch = this.#watches.get(topic);
    if (watch === undefined) return;
    watch.document = undefined;
    this.#report(topic, watch);
  }

  /** The whole directory was read once: topics without a claim are missing from now on. */
  sync(): void {
    this.#hasSynced = true;
    this.#refreshAll();
  }

  /** Sets the reason why the directory can't be read; undefined once it can be read again. */
  setLost(error: Error | undefined): void {
    this.#lost = error;
    this.#refreshAll();
  }

  #refreshAll(): void {
    for (const [topic, watch] of [...this.#watches]) this.#report(topic, watch);
  }

  #report(topic: TopicKey, watch: Watch): void {
    const claim = this.#claims.served(topic);
    const error = this.#lost ?? claim?.error;
    const isRecovered = watch.error !== undefined && error === undefined;
    const missingOrDeleted = claim === undefined ? this.#missingOrDeleted(topic) : undefined;
    const before = { ...watch };
    watch.error = missingOrDeleted === "missing" ? undefined : error;
    let hasReported = false;
    if (claim?.document !== undefined) {
      const { document, noticedMs } = claim;
      watch.document = document;
      watch.missingOrDeleted = undefined;
      if (document !== before.document || isRecovered) {
        hasReported = true;
        try {
          watch.sink.report({ kind: "document", document, version: { noticedMs } });
        } catch (error) {
          this.#onFailed(claim.path, error);
          watch.error = new ProxyError("DOCUMENT_INVALID", `${claim.path}: ${String(error)}`, {
            cause: error,
          });
        }
      }
    } else if (missingOrDeleted !== undefined) {
      watch.document = undefined;
      watch.missingOrDeleted = missingOrDeleted;
      if (missingOrDeleted !== before.missingOrDeleted || isRecovered)
        watch.sink.report({ kind: missingOrDeleted });
    }
    // A document ends staleness for its sink.
    if (watch.error !== undefined && (watch.error !== before.error || hasReported))
      watch.sink.report({ kind: "stale", reason: watch.error });
  }

  /** State of a topic without a claim; undefined if unknown. */
  #missingOrDeleted(topic: TopicKey): "missing" | "deleted" | undefined {
    const wasServed = this.#claims.wasServed(topic);
    if (this.#lost !== undefined) return this.#isAbsentWhileLost && !wasServed ? "missing" : undefined;
    if (!this.#hasSynced) return undefined;
    return wasServed ? "deleted" : "missing";
  }
}
