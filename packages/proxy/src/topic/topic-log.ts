import type { TopicKey } from "@bunting/protocol";
import type { RateLimitedLog } from "@bunting/runtime";
import type { ConvergenceState } from "./convergence.js";

/** Default limit of most gRPC clients for a message. */
const clientReceiveLimitBytes = 4 * 1024 * 1024;
/** Limit of log lines of one kind, for all topics. */
const linesPerMinute = 20;

/** Lines about topics, of which peers and edits can cause any number. */
export class TopicLog {
  readonly #topic: TopicKey;
  readonly #log: RateLimitedLog;

  constructor(topic: TopicKey, log: RateLimitedLog) {
    this.#topic = topic;
    this.#log = log;
  }

  converged(sequence: number, { arrived, afterMs }: ConvergenceState): void {
    const ms = Object.fromEntries([...afterMs].map(([share, after]) => [share * 100, Math.round(after)]));
    const fields = { topic: this.#topic, sequence, subscribers: arrived, afterMs: ms };
    this.#log.info("converged", fields, "a version has reached all its subscribers", linesPerMinute);
  }

  missing(missingPolicy: "hold" | "fail"): void {
    const message =
      missingPolicy === "hold"
        ? "the FeatureFlag does not exist; its subscribers are held until it does"
        : "the FeatureFlag does not exist; its subscribers are refused until it does";
    this.#log.warn("topic_missing", { topic: this.#topic }, message, linesPerMinute);
  }

  /** Warns of a document that is too large for most clients. */
  published(bytes: number): void {
    if (bytes <= clientReceiveLimitBytes) return;
    const message = "the document is larger than most gRPC clients accept by default (4 MiB)";
    this.#log.warn("topic_large", { topic: this.#topic, bytes }, message, linesPerMinute);
  }
}
