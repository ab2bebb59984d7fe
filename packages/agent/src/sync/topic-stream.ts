import { hostname } from "node:os";
import {
  type CallEnd,
  callEnd,
  callSync,
  OutgoingMessages,
  statusName,
  type StreamParts,
  type SyncCall,
  type SyncChannel,
} from "@bunting/sync-client";
import {
  type Deleted,
  encodeHello,
  type FreshnessMessage,
  type SyncResponse,
  type TopicError,
  TopicReplica,
  type VersionMessage,
} from "@bunting/sync-client/messages";
import { cut, cutToBytes } from "@bunting/runtime";
import { version } from "../version.js";
import type { FollowedList } from "./sync-source.js";
import type { SyncSourceParts } from "./on-demand-source.js";
import type { GrpcSourceConfig } from "./source-config.js";
import { TopicDocument, type NamedDocument } from "./topic-document.js";

/** More than any proxy sends on a stream of one topic: after each version it waits for the ack. */
const maxMessagesPerSecond = 1_000;
/** How long after its first answer a proxy may say that it can't follow, in ms: it waits for the ack, and for the turn of the topic. */
const freshnessMs = 2_000;
/** The proxy's limit of names; it ends the stream of an agent that exceeds it. */
const maxNameBytes = 256;

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
  readonly #source: SyncSourceParts<GrpcSourceConfig>;
  readonly #listener: StreamListener;
  readonly #document: TopicDocument;
  readonly #replica: TopicReplica<NamedDocument>;
  /** The stream on which the newest version came. */
  #answered: OutgoingMessages | undefined;

  constructor(topic: string, source: SyncSourceParts<GrpcSourceConfig>, listener: StreamListener) {
    this.#source = source;
    this.#listener = listener;
    const { config, options, state } = source;
    this.#document = new TopicDocument(config.sourceIndex, {
      ...options.receiver,
      // Counted here and not on receipt, because a delta may turn out not to fit.
      deliver: (delivery) => {
        const result = options.receiver.deliver(delivery);
        if (delivery.isDeletion !== true) state.delivered(result);
        return result;
      },
    });
    this.#replica = new TopicReplica(topic, this.#document);
  }

  /** Hears of flags whose evaluations fail, on which stream ever they are to be complained of, until the returned function is called. */
  listen(): () => void {
    const stop = this.#source.options.receiver.failing?.listen(({ sourceIndex, ...flag }) => {
      if (sourceIndex !== this.#source.config.sourceIndex) return;
      this.#replica.complain(flag);
      this.#complain();
    });
    return () => stop?.();
  }

  /** One stream; see callSync. */
  run(channel: SyncChannel, parts: TopicStreamParts, signal: AbortSignal): Promise<CallEnd> {
    const { clock, redact } = parts;
    let outgoing: OutgoingMessages | undefined;
    let cancelRetry: () => void = () => undefined;
    let cancelFresh: () => void = () => undefined;
    let isTakingOver = parts.isRenewal;
    let saysFreshness = false;
    const subscribe = (): void => outgoing?.send(this.#replica.subscribeMessage());
    const take = (response: SyncResponse, number: number): CallEnd | undefined => {
      if (isAnswer(response)) {
        // Fresh unless this stream says otherwise. What was said on the one before holds until then.
        const { state } = this.#source;
        if (!saysFreshness && state.isProxyLost)
          cancelFresh = clock.after(freshnessMs, () => state.proxyFollows());
        saysFreshness = true;
        isTakingOver = false;
        parts.answered();
      }
      if ("version" in response) {
        this.#answered = outgoing;
        outgoing?.send(this.#take(response, number));
        this.#complain();
      } else if (response.kind === "missing") this.#missing();
      else if (response.kind === "deleted") this.#deleted(response.policy);
      else if (response.kind === "freshness") {
        saysFreshness = true;
        cancelFresh();
        this.#noteFreshness(response, redact);
      } else if (response.kind === "source_flags") this.#followedList?.received(response);
      else if (response.kind === "topic_error") {
        cancelRetry();
        const refusal = this.#refusal(response, redact);
        if (isTakingOver) return refusal;
        cancelRetry = clock.after(this.#refused(refusal), subscribe);
      }
      return undefined;
    };
    const call: SyncCall = {
      ...parts,
      hello: encodeHello({
        agent: `bunting-agent/${version}`,
        providerId: cutToBytes(this.#source.config.providerId, maxNameBytes),
        readsFreshness: true,
        instance: cutToBytes(this.#instance, maxNameBytes),
        sources: this.#followedList?.list,
      }),
      maxMessagesPerSecond,
      opened: () => {
        if (!isTakingOver) this.#listener.opened();
      },
      started: (send) => {
        outgoing = new OutgoingMessages(send, clock);
        subscribe();
      },
      received: (response, number, bytes) => {
        if (outgoing?.isStuck === true)
          return callEnd("answers_unread", "the proxy goes on sending without reading the answers");
        // This stream has subscribed to one topic only.
        if ("topic" in response && response.topic !== this.#replica.topic) return undefined;
        this.#count(response, bytes);
        parts.heard();
        return take(response, number);
      },
    };
    return callSync(channel, call, signal).finally(() => {
      cancelRetry();
      cancelFresh();
      if (this.#answered === outgoing) this.#answered = undefined;
    });
  }

  /** What the agent is called among others. */
  get #instance(): string {
    const { instance = "" } = this.#source.options.pod ?? {};
    return instance === "" ? hostname() : instance;
  }

  get #followedList(): FollowedList | undefined {
    const { config, options } = this.#source;
    return options.sourceList?.asking === config.sourceIndex ? options.sourceList : undefined;
  }

  /** Messages for proxies are not sent to agents. */
  #count({ kind }: SyncResponse, bytes: number): void {
    const known = kind === "tier" || kind === "history" || kind === "trial" ? "unknown" : kind;
    this.#source.options.context.metrics.messageReceived(this.#source.config.sourceIndex, known, bytes);
  }

  /** Returns the answer. */
  #take(message: VersionMessage, number: number): Buffer {
    const { answer, outcome } = this.#replica.take(message, number);
    if (!("rejectedFlags" in outcome)) {
      const reason = "mismatch" in outcome ? "mismatch" : "refused";
      this.#source.options.context.metrics.nacked(this.#source.config.sourceIndex, reason);
    } else if (message.kind === "unchanged") this.#source.state.documentConfirmed();
    return answer;
  }

  /** While there is no stream, the next one repeats it. */
  #complain(): void {
    const complaint = this.#replica.complaint();
    if (complaint !== undefined) this.#answered?.add(complaint);
  }

  #missing(): void {
    this.#source.state.warned(
      `there is no FeatureFlag ${this.#replica.topic}; the previous flags, if any, are still served`,
    );
  }

  #noteFreshness({ isStale, cause, reason }: FreshnessMessage, redact: StreamParts["redact"]): void {
    if (isStale) this.#source.state.proxyLost(cause ?? "unreachable", redact(reason));
    else this.#source.state.proxyFollows();
  }

  #deleted(policy: Deleted["policy"]): void {
    if (policy === "empty") this.#document.empty();
    const then = policy === "empty" ? "no flags are served any more" : "its flags are still served";
    this.#source.state.warned(`the FeatureFlag ${this.#replica.topic} was deleted; ${then}`);
  }

  #refusal({ code, message, retryAfterMs }: TopicError, redact: StreamParts["redact"]): CallEnd {
    const name = statusName(code);
    return {
      reason: name.toLowerCase(),
      message: `the proxy refused ${this.#replica.topic}: ${name}: ${cut(redact(message))}`,
      pushbackMs: retryAfterMs === 0 ? undefined : retryAfterMs,
    };
  }

  /** Returns when to subscribe again, in ms. */
  #refused({ reason, message, pushbackMs }: CallEnd): number {
    this.#source.state.failed(reason, message, this.#listener.advice(reason));
    return this.#listener.waitMs(pushbackMs);
  }
}

/** True if the message brings the state of the topic. */
function isAnswer(response: SyncResponse): boolean {
  return "version" in response || response.kind === "missing" || response.kind === "deleted";
}
