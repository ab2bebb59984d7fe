import { type CallEnd, callEnd, statusName, type StreamParts, type SyncChannel } from "@bunting/sync-client";
import type { Deleted, FreshnessMessage, SyncResponse, TopicError } from "@bunting/sync-client/messages";
import { cut } from "@bunting/runtime";
import { callBuntingSync } from "./bunting-call.js";
import type { SyncSourceOptions } from "./sync-source.js";
import type { GrpcSourceConfig } from "./source-config.js";
import type { SourceState } from "./source-state.js";
import { TopicDocument } from "./topic-document.js";

/** One stream. */
export interface TopicStreamParts extends StreamParts {
  /** A message arrived, so the server supports the protocol. */
  heard(): void;
  /** The server sent the state of the topic. */
  answered(): void;
  /** Ends as soon as the topic is refused, unless the server has sent its state before: the stream that it is to take over from goes on. */
  readonly isRenewal: boolean;
}

/** Callbacks to the source that opens the streams. */
export interface StreamListener {
  /** Response headers have come. */
  opened(): void;
  /** What to do about a refusal. */
  advice(reason: string): string | undefined;
  /** When to try again after a failure, in ms. */
  waitMs(pushbackMs: number | undefined): number;
}

/** Syncs the topic of one source over bunting.sync.v1, over any number of streams. */
export class TopicStream {
  readonly #topic: string;
  readonly #config: GrpcSourceConfig;
  readonly #options: SyncSourceOptions;
  readonly #state: SourceState;
  readonly #listener: StreamListener;
  readonly #document: TopicDocument;

  constructor(
    topic: string,
    source: {
      readonly config: GrpcSourceConfig;
      readonly options: SyncSourceOptions;
      readonly state: SourceState;
    },
    listener: StreamListener,
  ) {
    this.#topic = topic;
    this.#config = source.config;
    this.#options = source.options;
    this.#state = source.state;
    this.#listener = listener;
    const { receiver, context } = this.#options;
    this.#document = new TopicDocument(topic, this.#config.sourceIndex, {
      receiver: {
        ...receiver,
        // Counted here and not on receipt, because a delta may turn out not to fit.
        deliver: (delivery) => {
          const result = receiver.deliver(delivery);
          if (delivery.isDeletion !== true) this.#state.delivered(result);
          return result;
        },
      },
      context,
    });
  }

  /** One stream; see runCall. */
  run(channel: SyncChannel, parts: TopicStreamParts, signal: AbortSignal): Promise<CallEnd> {
    const { providerId, sourceIndex } = this.#config;
    const { redact } = parts;
    let isTakingOver = parts.isRenewal;
    let saysFreshness = false;
    const { metrics } = this.#options.context;
    return callBuntingSync(
      channel,
      {
        ...parts,
        topic: this.#topic,
        document: this.#document,
        providerId,
        opened: () => {
          if (!isTakingOver) this.#listener.opened();
        },
        received: (response, messageBytes) => {
          // Messages for proxies are not sent to agents.
          const isForProxies = response.kind === "tier" || response.kind === "history";
          metrics.messageReceived(sourceIndex, isForProxies ? "unknown" : response.kind, messageBytes);
          parts.heard();
          if (response.kind === "freshness") {
            saysFreshness = true;
            this.#noteFreshness(response, redact);
          }
          if (isForProxies || !isAnswer(response)) return;
          // Fresh until this stream says otherwise.
          if (!saysFreshness) this.#state.proxyFollows();
          saysFreshness = true;
          isTakingOver = false;
          parts.answered();
          this.#note(response);
        },
        refused: (error) => {
          const { reason, message } = this.#refusal(error, redact);
          if (isTakingOver) return callEnd(reason, message);
          this.#state.failed(reason, message, this.#listener.advice(reason));
          return this.#listener.waitMs(error.retryAfterMs === 0 ? undefined : error.retryAfterMs);
        },
        deleted: (policy) => this.#deleted(policy),
      },
      signal,
    );
  }

  #note({ kind }: SyncResponse): void {
    if (kind === "unchanged") this.#state.documentConfirmed();
    else if (kind === "missing")
      this.#state.warned(
        `there is no FeatureFlag ${this.#topic}; the previous flags, if any, are still served`,
      );
  }

  #noteFreshness({ isStale, cause, reason }: FreshnessMessage, redact: StreamParts["redact"]): void {
    if (isStale) this.#state.proxyLost(cause ?? "unreachable", redact(reason));
    else this.#state.proxyFollows();
  }

  #deleted(policy: Deleted["policy"]): void {
    if (policy === "empty") this.#document.empty();
    const then = policy === "empty" ? "no flags are served any more" : "its flags are still served";
    this.#state.warned(`the FeatureFlag ${this.#topic} was deleted; ${then}`);
  }

  #refusal(
    { code, message }: TopicError,
    redact: StreamParts["redact"],
  ): { reason: string; message: string } {
    const name = statusName(code);
    const reason = name.toLowerCase();
    return { reason, message: `the proxy refused ${this.#topic}: ${name}: ${cut(redact(message))}` };
  }
}

/** True if the message brings the state of the topic. */
function isAnswer({ kind }: SyncResponse): boolean {
  return kind !== "heartbeat" && kind !== "freshness" && kind !== "unknown" && kind !== "topic_error";
}
