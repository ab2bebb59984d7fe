import { cut } from "@bunting/runtime";
import { callBuntingSync } from "./bunting-call.js";
import type { Deleted, SyncResponse, TopicError } from "./bunting-messages.js";
import type { SourceOptions } from "./flag-source.js";
import type { GrpcSourceConfig } from "./source-config.js";
import type { SourceState } from "./source-state.js";
import { statusName, type CallEnd } from "./stream-call.js";
import type { SyncChannel } from "./sync-channel.js";
import { TopicDocument } from "./topic-document.js";

/** Callbacks to the source that opens the streams. */
export interface StreamListener {
  /** Response headers have come. */
  opened(): void;
  /** A message arrived, so the server supports the protocol. */
  heard(): void;
  /** The server sent the state of the topic. */
  answered(): void;
  /** When to try again after a failure, in ms. */
  waitMs(pushbackMs: number | undefined): number;
}

/** Syncs the topic of one source over bunting.sync.v1, one stream after the other. */
export class TopicStream {
  readonly #topic: string;
  readonly #config: GrpcSourceConfig;
  readonly #options: SourceOptions;
  readonly #state: SourceState;
  readonly #listener: StreamListener;
  readonly #document: TopicDocument;

  constructor(
    topic: string,
    source: {
      readonly config: GrpcSourceConfig;
      readonly options: SourceOptions;
      readonly state: SourceState;
    },
    listener: StreamListener,
  ) {
    this.#topic = topic;
    this.#config = source.config;
    this.#options = source.options;
    this.#state = source.state;
    this.#listener = listener;
    const { held, confirm, metrics, deliver } = this.#options;
    this.#document = new TopicDocument(topic, this.#config.sourceIndex, {
      held,
      confirm,
      metrics,
      // Counted here and not on receipt, because a delta may turn out not to fit.
      deliver: (delivery) => {
        if (delivery.isDeletion !== true) this.#state.documentReceived(delivery.bytes.length);
        return deliver(delivery);
      },
    });
  }

  /** One stream; see runCall. */
  run(channel: SyncChannel, connectTimeoutMs: number, signal: AbortSignal): Promise<CallEnd> {
    const { providerId, headers, sourceIndex } = this.#config;
    const { clock, metrics } = this.#options;
    return callBuntingSync(
      channel,
      {
        topic: this.#topic,
        document: this.#document,
        providerId,
        headers,
        clock,
        connectTimeoutMs,
        opened: () => this.#listener.opened(),
        received: (response, messageBytes) => {
          metrics.messageReceived(sourceIndex, response.kind, messageBytes);
          this.#note(response);
        },
        refused: (error) => this.#refused(error),
        deleted: (policy) => this.#deleted(policy),
      },
      signal,
    );
  }

  #note({ kind }: SyncResponse): void {
    this.#listener.heard();
    if (kind === "heartbeat" || kind === "unknown" || kind === "topic_error") return;
    this.#listener.answered();
    if (kind === "unchanged") this.#state.documentConfirmed();
    else if (kind === "missing")
      this.#state.warned(
        `there is no FeatureFlag ${this.#topic}; the previous flags, if any, are still served`,
      );
  }

  #deleted(policy: Deleted["policy"]): void {
    if (policy === "empty") this.#document.empty();
    const then = policy === "empty" ? "no flags are served any more" : "its flags are still served";
    this.#state.warned(`the FeatureFlag ${this.#topic} was deleted; ${then}`);
  }

  /** Returns when to subscribe to the topic again, in ms. */
  #refused({ code, message, retryAfterMs }: TopicError): number {
    const name = statusName(code);
    this.#state.failed(name.toLowerCase(), `the proxy refused ${this.#topic}: ${name}: ${cut(message)}`);
    return this.#listener.waitMs(retryAfterMs === 0 ? undefined : retryAfterMs);
  }
}
